package web

import (
	"fmt"
	"testing"
	"time"

	"slurmflex/flex/plan"
	"slurmflex/flex/plan/scene"
	"slurmflex/test/bench/site"
)

// The board of a daemon sees a steady cluster. No one asks for the view.
func BenchmarkBoardSaw(b *testing.B) {
	for _, nodes := range []int{1_000, 5_000} {
		b.Run(fmt.Sprint(nodes), func(b *testing.B) {
			cfg, err := site.Config(nodes)
			if err != nil {
				b.Fatal(err)
			}
			s := scene.Of(cfg, site.Steady(cfg, time.Now()))
			p := plan.Compute(s)
			board := NewBoard(cfg, time.Now)
			board.Saw(s, p)
			b.ReportAllocs()
			for b.Loop() {
				board.Saw(s, p)
			}
		})
	}
}

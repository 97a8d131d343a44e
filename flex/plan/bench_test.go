package plan_test

import (
	"fmt"
	"testing"
	"time"

	"slurmflex/config"
	"slurmflex/flex/plan"
	"slurmflex/flex/plan/scene"
	"slurmflex/test/bench/site"
)

func BenchmarkCompute(b *testing.B) {
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	for _, state := range []struct {
		name string
		make func(*config.Config, time.Time) scene.Snapshot
	}{
		{"steady", site.Steady}, {"rising", site.Rising}, {"leaving", site.Leaving},
	} {
		for _, nodes := range []int{1_000, 10_000, 100_000} {
			cfg, err := site.Config(nodes)
			if err != nil {
				b.Fatal(err)
			}
			snap := state.make(cfg, now)
			b.Run(fmt.Sprintf("%s/%d", state.name, nodes), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					plan.Compute(scene.Of(cfg, snap))
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(nodes), "ns/node")
			})
		}
	}
}

package web

import (
	"fmt"

	"slurmflex/flex/view"
)

// tile is a number of the summary.
type tile struct{ Name, Value string }

// tilesOf are the totals; an en dash stands for what is not known or not there.
func tilesOf(v view.View) []tile {
	t := v.Totals()
	gpus, wait, end := "–", "–", "–"
	if g := t.GPUs; g != (view.GPUs{}) {
		gpus = fmt.Sprintf("%d / %d / %d", g.Used, g.Idle, g.Requested)
	}
	if t.LongestWait > 0 {
		wait = view.Span(t.LongestWait)
	}
	if !t.NextEnd.IsZero() {
		end = "in " + view.Span(t.NextEnd.Sub(v.SeenAt))
	}
	return []tile{
		{"jobs waiting", fmt.Sprint(t.Waiting)},
		{"jobs running", fmt.Sprint(t.Running)},
		{"jobs held", fmt.Sprint(t.Held)},
		{"longest wait", wait},
		{"nodes waiting", fmt.Sprint(t.WaitingNodes)},
		{"nodes up", fmt.Sprint(t.Machines)},
		{"GPUs used / idle / requested", gpus},
		{"lease ends", end},
	}
}

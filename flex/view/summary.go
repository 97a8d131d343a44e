package view

import (
	"fmt"
	"strings"
)

// Summary returns the view in one line: waiting and running jobs and nodes; GPUs in use, idle and
// requested; the longest wait; the next lease end; held jobs; problems.
func (v View) Summary() string {
	t := v.Totals()
	parts := []string{
		fmt.Sprintf("jobs: %d waiting, %d running, %d held", t.Waiting, t.Running, t.Held),
		fmt.Sprintf("nodes: %d waiting, %d with a machine", t.WaitingNodes, t.Machines),
	}
	if gpus := t.GPUs; gpus != (GPUs{}) {
		parts = append(parts, fmt.Sprintf("GPUs: %d in use, %d idle, %d requested", gpus.Used, gpus.Idle, gpus.Requested))
	}
	if t.LongestWait > 0 {
		parts = append(parts, "longest wait: "+Span(t.LongestWait))
	}
	if !t.NextEnd.IsZero() {
		parts = append(parts, "next lease ends in "+Span(t.NextEnd.Sub(v.SeenAt)))
	}
	if n := len(v.Problems); n > 0 {
		parts = append(parts, Count(n, "problem"))
	}
	return strings.Join(parts, "; ")
}

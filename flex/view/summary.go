package view

import (
	"fmt"
	"strings"
)

// Figure has some of the view's totals, for people.
type Figure struct{ Name, Text string }

// Figures returns the view's totals: those of the page's tiles and of the summary of status.
func (v View) Figures() []Figure {
	t := v.Totals()
	all := []Figure{
		{"jobs", fmt.Sprintf("%d waiting, %d running, %d held", t.Waiting, t.Running, t.Held)},
		{"nodes", fmt.Sprintf("%d waiting, %d with a machine", t.WaitingNodes, t.Machines)},
	}
	if gpus := t.GPUs; gpus != (GPUs{}) {
		all = append(all, Figure{"GPUs", fmt.Sprintf("%d in use, %d idle, %d requested", gpus.Used, gpus.Idle, gpus.Requested)})
	}
	if t.LongestWait > 0 {
		all = append(all, Figure{"longest wait", Span(t.LongestWait)})
	}
	if !t.NextEnd.IsZero() {
		all = append(all, Figure{"next lease ends in", Span(t.NextEnd.Sub(v.SeenAt))})
	}
	if n := len(v.Problems); n > 0 {
		all = append(all, Figure{"problems", fmt.Sprint(n)})
	}
	return all
}

// Summary returns the view's totals in one line.
func (v View) Summary() string {
	var parts []string
	for _, f := range v.Figures() {
		parts = append(parts, f.Name+": "+f.Text)
	}
	return strings.Join(parts, "; ")
}

package view

import (
	"fmt"
	"strings"
)

// Figures returns the view's totals: those of the page's tiles and of the summary of status.
func (v View) Figures() []Field {
	t := v.Totals()
	all := []Field{
		{"jobs", fmt.Sprintf("%d waiting, %d running, %d held", t.Waiting, t.Running, t.Held)},
		{"nodes", fmt.Sprintf("%d waiting, %d with a machine", t.WaitingNodes, t.Machines)},
	}
	if gpus := t.GPUs; gpus != (gpuCounts{}) {
		all = append(all, Field{"GPUs", fmt.Sprintf("%d in use, %d idle, %d requested", gpus.Used, gpus.Idle, gpus.Requested)})
	}
	if t.LongestWait > 0 {
		all = append(all, Field{"longest wait", Span(t.LongestWait)})
	}
	if !t.NextEnd.IsZero() {
		all = append(all, Field{"next lease ends in", Span(t.NextEnd.Sub(v.SeenAt))})
	}
	if n := len(v.Problems); n > 0 {
		all = append(all, Field{"problems", fmt.Sprint(n)})
	}
	return all
}

// summary returns the view's totals in one line.
func (v View) summary() string {
	var parts []string
	for _, f := range v.Figures() {
		parts = append(parts, f.Name+": "+f.Text)
	}
	return strings.Join(parts, "; ")
}

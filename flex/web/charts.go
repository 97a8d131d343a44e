package web

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"slurmflex/flex/history"
	"slurmflex/flex/view"
)

// chart shows the nodes of the last day as columns.
type chart struct {
	Desc    string
	Most    int
	Columns []column
	Ticks   []tick
}

// column is a number of nodes in a state during a period.
type column struct {
	piece
	Y, Height string
}

const (
	plotHeight  = 96              // height of a chart's columns, in pixels; see page.html
	plotTop     = 18              // above the columns
	mostColumns = 200             // side by side
	shortest    = 2 * time.Minute // shortest period that is shown
)

// chartKeys are the patterns of the chart, from bottom to top.
var chartKeys = []key{{"running", "running"}, {"idle", "idle"}, {"booting", "booting"}, {"waiting", "waiting"}}

// newChart draws the last day; nil without samples.
func newChart(samples []sample, now time.Time) *chart {
	if len(samples) == 0 {
		return nil
	}
	first := samples[0].At
	shown := span{from: now.Add(-min(max(now.Sub(first), shortest), history.Length)), to: now}
	h := &chart{}
	step := len(samples)/mostColumns + 1
	var levels []sample // each as high as the highest sample from its time on
	for chunk := range slices.Chunk(samples, step) {
		highest := chunk[0]
		for _, s := range chunk {
			if s.Sum >= highest.Sum {
				highest = s
			}
		}
		h.Most = max(h.Most, highest.Sum)
		highest.At = chunk[0].At
		if n := len(levels); n == 0 || !maps.Equal(levels[n-1].Nodes, highest.Nodes) {
			levels = append(levels, highest)
		}
	}
	for i, l := range levels {
		until := now
		if i+1 < len(levels) {
			until = levels[i+1].At
		}
		h.stack(shown, l, until)
	}
	last := samples[len(samples)-1].Nodes
	h.Desc = fmt.Sprintf("Since %s: at most %d at a time. Last: %d running, %d idle, %d booting, %d waiting.",
		view.Moment(first, now), h.Most, last[view.Running], last[view.Idle], last[view.Booting], last[view.Waiting])
	middle := shown.from.Add(shown.to.Sub(shown.from) / 2)
	h.Ticks = []tick{
		{"0%", "start", shown.from.In(now.Location()).Format("15:04")},
		{"50%", "middle", middle.In(now.Location()).Format("15:04")},
		{"100%", "end", "now"},
	}
	return h
}

// stack puts the columns of a level on top of each other.
func (h *chart) stack(shown span, level sample, until time.Time) {
	top := float64(plotTop + plotHeight)
	for _, k := range chartKeys {
		n := level.Nodes[view.State(k.Kind)]
		if n == 0 {
			continue
		}
		height := plotHeight * float64(n) / float64(h.Most)
		top -= height
		h.Columns = append(h.Columns, column{shown.piece(level.At, until, k.Kind), pixels(top), pixels(height)})
	}
}

func pixels(f float64) string { return strconv.FormatFloat(f, 'f', 1, 64) }

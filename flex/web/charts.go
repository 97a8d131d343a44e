package web

import (
	"fmt"
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
func newChart(samples []history.Sample, now time.Time) *chart {
	if len(samples) == 0 {
		return nil
	}
	first := samples[0].At
	shown := span{from: now.Add(-min(max(now.Sub(first), shortest), history.Length)), to: now}
	h := &chart{}
	step := len(samples)/mostColumns + 1
	type level struct {
		from, to time.Time
		counts   history.Counts
	}
	var levels []level
	for i := 0; i < len(samples); i += step {
		chunk := samples[i:min(i+step, len(samples))]
		end := now
		if i+step < len(samples) {
			end = samples[i+step].At
		}
		var highest history.Counts
		for _, s := range chunk {
			if s.Nodes.Sum() >= highest.Sum() {
				highest = s.Nodes
			}
		}
		h.Most = max(h.Most, highest.Sum())
		if n := len(levels); n > 0 && levels[n-1].counts == highest {
			levels[n-1].to = end
			continue
		}
		levels = append(levels, level{chunk[0].At, end, highest})
	}
	for _, l := range levels {
		h.stack(shown, l.from, l.to, l.counts)
	}
	last := samples[len(samples)-1].Nodes
	h.Desc = fmt.Sprintf("Since %s: at most %d at a time. Last: %d running, %d idle, %d booting, %d waiting.",
		view.Moment(first, now), h.Most, last.Running, last.Idle, last.Booting, last.Waiting)
	middle := shown.from.Add(shown.to.Sub(shown.from) / 2)
	h.Ticks = []tick{
		{"0%", "start", shown.from.In(now.Location()).Format("15:04")},
		{"50%", "middle", middle.In(now.Location()).Format("15:04")},
		{"100%", "end", "now"},
	}
	return h
}

// stack puts the columns of a period on top of each other.
func (h *chart) stack(shown span, from, to time.Time, c history.Counts) {
	top := float64(plotTop + plotHeight)
	for i, n := range []int{c.Running, c.Idle, c.Booting, c.Waiting} {
		if n == 0 {
			continue
		}
		height := plotHeight * float64(n) / float64(h.Most)
		top -= height
		h.Columns = append(h.Columns, column{shown.piece(from, to, chartKeys[i].Kind), pixels(top), pixels(height)})
	}
}

func pixels(f float64) string { return strconv.FormatFloat(f, 'f', 1, 64) }

package web

import (
	"fmt"
	"strconv"
	"time"

	"slurmflex/flex/history"
	"slurmflex/flex/view"
)

// chart shows the nodes, or the GPUs, of the last day as columns.
type chart struct {
	ID, Title, Desc string
	Most            int
	Columns         []column
	Ticks           []tick
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

// chartKeys are the patterns of the charts, from bottom to top.
var chartKeys = []key{{"running", "running"}, {"idle", "idle"}, {"booting", "booting"}, {"waiting", "waiting"}}

// newCharts draws the last day: the nodes, and the GPUs if there were any.
func newCharts(samples []history.Sample, now time.Time) (all []chart) {
	if len(samples) == 0 {
		return nil
	}
	all = append(all, newChart("Nodes", samples, now, func(s history.Sample) (history.Counts, bool) { return s.Nodes, true }))
	if h := newChart("GPUs", samples, now, func(s history.Sample) (history.Counts, bool) { return s.GPUs, !s.Unknown }); h.Most > 0 {
		all = append(all, h)
	}
	return all
}

// newChart draws the nodes or the GPUs.
func newChart(title string, samples []history.Sample, now time.Time, of func(history.Sample) (history.Counts, bool)) chart {
	first := samples[0].At
	shown := span{from: now.Add(-min(max(now.Sub(first), shortest), history.Length)), to: now}
	h := chart{ID: "history-" + title, Title: title + " in the last day"}
	step := len(samples)/mostColumns + 1
	type level struct {
		from, to time.Time
		counts   history.Counts
	}
	var levels []level
	var last history.Counts // of the last sample that is known
	for i := 0; i < len(samples); i += step {
		chunk := samples[i:min(i+step, len(samples))]
		end := now
		if i+step < len(samples) {
			end = samples[i+step].At
		}
		var highest history.Counts
		for _, s := range chunk {
			counts, known := of(s)
			if !known {
				continue
			}
			last = counts
			if counts.Sum() >= highest.Sum() {
				highest = counts
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

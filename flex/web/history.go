package web

import (
	"fmt"
	"strconv"
	"time"

	"slurmflex/flex/past"
	"slurmflex/flex/view"
)

// history shows the nodes, or the GPUs, of the last day as columns.
type history struct {
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
	plotHeight  = 96              // height of history's columns, in pixels; see page.html
	plotTop     = 18              // above the columns
	mostColumns = 200             // side by side
	shortest    = 2 * time.Minute // shortest period that is shown
)

// historyKeys are the patterns of the history, from bottom to top.
var historyKeys = []key{{"running", "running"}, {"idle", "idle"}, {"booting", "booting"}, {"waiting", "waiting"}}

// newHistories draws the last day: the nodes, and the GPUs if any were observed.
func newHistories(day past.Day, interval time.Duration, now time.Time) (all []history) {
	if len(day.Samples) == 0 {
		return nil
	}
	nodes := func(s past.Sample) (past.Counts, bool) { return s.Nodes, true }
	gpus := func(s past.Sample) (past.Counts, bool) { return s.GPUs, !s.Unknown }
	all = append(all, newHistory("Nodes", day, interval, now, nodes))
	if h := newHistory("GPUs", day, interval, now, gpus); h.Most > 0 {
		all = append(all, h)
	}
	return all
}

// newHistory draws the nodes or the GPUs. A time without a sample for three intervals is a gap.
func newHistory(title string, day past.Day, interval time.Duration, now time.Time, of func(past.Sample) (past.Counts, bool)) history {
	first := day.Samples[0].At
	shown := span{from: now.Add(-min(max(now.Sub(first), shortest), past.Length)), to: now}
	h := history{ID: "history-" + title, Title: title + " in the last day"}
	step := len(day.Samples)/mostColumns + 1
	type level struct {
		from, to time.Time
		counts   past.Counts
	}
	var levels []level
	var last past.Counts // of the last sample that is known
	for i := 0; i < len(day.Samples); i += step {
		chunk := day.Samples[i:min(i+step, len(day.Samples))]
		end := now
		if i+step < len(day.Samples) {
			end = day.Samples[i+step].At
		}
		if limit := chunk[len(chunk)-1].At.Add(max(3*interval, 3*time.Minute)); end.After(limit) {
			end = limit
		}
		var highest past.Counts
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
		if n := len(levels); n > 0 && levels[n-1].counts == highest && levels[n-1].to.Equal(chunk[0].At) {
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
func (h *history) stack(shown span, from, to time.Time, c past.Counts) {
	top := float64(plotTop + plotHeight)
	for i, n := range []int{c.Running, c.Idle, c.Booting, c.Waiting} {
		if n == 0 {
			continue
		}
		height := plotHeight * float64(n) / float64(h.Most)
		top -= height
		h.Columns = append(h.Columns, column{shown.piece(from, to, historyKeys[i].Kind), pixels(top), pixels(height)})
	}
}

func pixels(f float64) string { return strconv.FormatFloat(f, 'f', 1, 64) }

package web

import (
	"fmt"
	"strings"
	"time"

	"slurmflex/flex/view"
)

// timeline is the leases as bars, from when the first machine was made to when
// the last lease ends. Along it, places are in percent of its width, so that
// it fits any screen; down it, in pixels.
type timeline struct {
	Height int
	Bars   []bar
	Ticks  []tick
	Now    string
}

type bar struct {
	X, Width            string
	LabelY, Y           int
	Class, Label, Title string
}

type tick struct {
	X, Anchor, Text string
}

// The measures of the timeline, in pixels.
const (
	axisHeight = 22
	barStep    = 38 // from one bar to the next: the label is between them
	labelLine  = 14 // from a step's top to its label's base line
	barTop     = 19 // from there to its bar, which is 14 high; see page.html
)

// newTimeline draws the machines of a view; nil if there are none.
func newTimeline(v view.View, now time.Time) *timeline {
	var rows []view.Row
	var from, to time.Time
	for _, r := range v.Rows {
		if r.Waits() || r.Since.IsZero() {
			continue
		}
		rows = append(rows, r)
		if from.IsZero() || r.Since.Before(from) {
			from = r.Since
		}
		if end := endOf(r, now); end.After(to) {
			to = end
		}
	}
	if len(rows) == 0 {
		return nil
	}
	if now.After(to) {
		to = now
	}
	scale := func(t time.Time) float64 {
		return 100 * min(max(float64(t.Sub(from))/float64(max(to.Sub(from), time.Second)), 0), 1)
	}
	t := &timeline{Height: axisHeight + barStep*len(rows), Now: percent(scale(now))}
	for i, r := range rows {
		end := endOf(r, now)
		label := []string{r.Nodes}
		if jobs := r.JobList(); jobs != "" {
			label = append(label, "job "+jobs)
		}
		label = append(label, string(r.State))
		title := "created at " + view.Moment(r.Since, now)
		if !r.EndsAt.IsZero() {
			label = append(label, "ends "+view.Moment(r.EndsAt, now))
			title += ", lease ends at " + view.Moment(r.EndsAt, now)
		}
		t.Bars = append(t.Bars, bar{
			X: percent(scale(r.Since)), Width: percent(max(scale(end)-scale(r.Since), 0.5)),
			LabelY: axisHeight + barStep*i + labelLine, Y: axisHeight + barStep*i + barTop,
			Class: string(r.State), Label: strings.Join(label, " · "), Title: title,
		})
	}
	t.Ticks = []tick{{"0%", "start", view.Moment(from, now)}, {"100%", "end", view.Moment(to, now)}}
	if at := scale(now); at > 25 && at < 75 {
		t.Ticks = append(t.Ticks, tick{percent(at), "middle", "now"})
	}
	return t
}

// endOf is when a row's machines end as far as that is known: before they run, the
// latest time.
func endOf(r view.Row, now time.Time) time.Time {
	switch {
	case !r.EndsAt.IsZero():
		return r.EndsAt
	case r.Lease > 0:
		return r.Since.Add(time.Duration(r.Lease))
	}
	return now
}

func percent(f float64) string { return fmt.Sprintf("%.2f%%", f) }

package web

import (
	"math"
	"slices"
	"strings"
	"time"

	"slurmflex/flex/history"
	"slurmflex/flex/view"
)

// timeline shows the leases as bars, the earliest end at the top.
type timeline struct {
	Height int
	Bars   []bar
	Ticks  []tick
	Now    tick
	More   int // number of further leases without a bar
	Keys   []key
}

// bar is a lease.
type bar struct {
	LabelY, Y    int
	Label, Title string
	Pieces       []piece
	End          string // its position; empty if outside the span or unknown
}

// zoom is the period that the timeline shows. A quarter of it is in the past.
type zoom struct {
	length, tick time.Duration
	form         string // format of a tick's time
}

// zooms are the periods that fit chooses from.
var zooms = []zoom{
	{20 * time.Minute, 5 * time.Minute, "15:04"},
	{time.Hour, 15 * time.Minute, "15:04"},
	{3 * time.Hour, 30 * time.Minute, "15:04"},
	{8 * time.Hour, 2 * time.Hour, "15:04"},
	{24 * time.Hour, 6 * time.Hour, "15:04"},
	{3 * 24 * time.Hour, 12 * time.Hour, "Jan 2 15:04"},
	{10 * 24 * time.Hour, 48 * time.Hour, "Jan 2"},
}

// span returns the period at that time.
func (z zoom) span(now time.Time) span {
	return span{from: now.Add(-z.length / 4), to: now.Add(3 * z.length / 4)}
}

// fit returns the shortest zoom that shows the end of half of the leases. Short leases would be
// slivers in a zoom that shows the longest one. The rows must be ordered by their ends.
func fit(rows []view.Row, now time.Time) zoom {
	middle := endOf(rows[(len(rows)-1)/2], now)
	at := slices.IndexFunc(zooms, func(z zoom) bool { return !middle.After(z.span(now).to) })
	if at < 0 {
		at = len(zooms) - 1
	}
	return zooms[at]
}

// The dimensions of the timeline, in pixels.
const (
	axisHeight = 36
	barStep    = 38 // from one bar to the next, with the label in between
	labelLine  = 14 // from a step's top to its label's base line
	barTop     = 19 // from there to its bar, which is 14 high; see page.html

	mostBars = 30
)

// leaseKeys are the patterns of the timeline.
var leaseKeys = []key{
	{"booting", "booting"},
	{"running", "running a job"},
	{"idle", "idle"},
	{"unknown", "not recorded"},
	{"left", "rest of the lease"},
}

// newTimeline draws the machines of these rows; nil without machines.
func newTimeline(rows []view.Row, jobs []view.Job, day []history.Entry, now time.Time) *timeline {
	rows = slices.DeleteFunc(slices.Clone(rows), func(r view.Row) bool {
		return r.Waits() || r.State == view.Pending || r.Since.IsZero() || r.State == view.Cancelling
	})
	if len(rows) == 0 {
		return nil
	}
	slices.SortStableFunc(rows, func(a, b view.Row) int { return endOf(a, now).Compare(endOf(b, now)) })
	t := &timeline{More: max(0, len(rows)-mostBars)}
	rows = rows[:len(rows)-t.More]
	t.Height = axisHeight + barStep*len(rows)
	zoom := fit(rows, now)
	shown := zoom.span(now)
	used := map[string]bool{}
	for i, r := range rows {
		b := newBar(r, jobs, phasesOf(r, day), shown, now)
		b.LabelY, b.Y = axisHeight+barStep*i+labelLine, axisHeight+barStep*i+barTop
		t.Bars = append(t.Bars, b)
		for _, p := range b.Pieces {
			used[p.Kind] = true
		}
	}
	t.Keys = slices.DeleteFunc(slices.Clone(leaseKeys), func(k key) bool { return !used[k.Kind] })
	t.Now = tick{percent(shown.at(now)), "middle", "now, " + now.Format("15:04")}
	t.Ticks = ticks(shown, zoom, now)
	return t
}

// ticks returns ticks at even times of the reader's day that are not too close to an edge or to the
// now-line.
func ticks(shown span, z zoom, current time.Time) (all []tick) {
	zone, now := current.Location(), shown.at(current)
	day := shown.from.In(zone)
	midnight := time.Date(day.Year(), day.Month(), day.Day(), 0, 0, 0, 0, zone)
	for n := 0; ; n++ {
		at := midnight.Add(time.Duration(n) * z.tick)
		if hours := int(z.tick / time.Hour); hours > 0 { // the clock may change in between
			at = time.Date(day.Year(), day.Month(), day.Day(), n*hours, 0, 0, 0, zone)
		}
		if !at.Before(shown.to) {
			return all
		}
		if x := shown.at(at); x > 4 && x < 96 && math.Abs(x-now) > 3 {
			all = append(all, tick{percent(x), "middle", at.Format(z.form)})
		}
	}
}

// phasesOf returns what the first of a row's machines did so far.
func phasesOf(r view.Row, day []history.Entry) (all []phase) {
	for i := range day {
		if e := &day[i]; e.Kind == history.Lease && slices.Index(r.Nodes, e.Node) == 0 && e.To > history.At(r.Since) {
			all = append(all, phases(e)...)
		}
	}
	return all
}

func newBar(r view.Row, jobs []view.Job, did []phase, shown span, now time.Time) bar {
	label := []string{r.Nodes.String()}
	if len(r.ShownAs) > 0 {
		label = append(label, "job "+strings.Join(r.ShownAs, ","))
	}
	label = append(label, string(r.State))
	b := bar{Title: "created at " + view.Moment(r.Since, now)}
	if !r.EndsAt.IsZero() {
		label = append(label, "ends "+view.Moment(r.EndsAt, now))
		what := "lease ends"
		if !r.Maintain.IsZero() {
			what = "maintenance starts"
		}
		b.Title += ", " + what + " at " + view.Moment(r.EndsAt, now)
		if shown.from.Before(r.EndsAt) && r.EndsAt.Before(shown.to) {
			b.End = percent(shown.at(r.EndsAt))
		}
	}
	b.Label = strings.Join(label, " · ")
	from, kind := r.Since, "unknown"
	for _, p := range did {
		if begun := p.From.Time(); begun.After(from) {
			b.Pieces = append(b.Pieces, shown.piece(from, begun, kind))
			from = begun
		}
		kind = string(p.Is)
	}
	b.Pieces = append(b.Pieces, shown.piece(from, now, kind))
	end, done := endOf(r, now), plannedEnd(r, jobs, now)
	b.Pieces = append(b.Pieces, shown.piece(now, done, "running"), shown.piece(done, end, "left"))
	b.Pieces[len(b.Pieces)-2].Planned = true
	b.Pieces = slices.DeleteFunc(b.Pieces, func(p piece) bool { return p.empty })
	return b
}

// plannedEnd returns when the last of a running row's jobs reaches its time limit, at most the end
// of the lease. It returns now if none of the row's jobs runs.
func plannedEnd(r view.Row, jobs []view.Job, now time.Time) time.Time {
	last := now
	for _, j := range jobs {
		if r.State != view.Starting && r.State != view.Running || !slices.Contains(r.Jobs, j.ID) {
			continue
		}
		end := endOf(r, now)
		if limit := j.StartAt.Add(time.Duration(j.Limit)); j.Limit > 0 && limit.Before(end) {
			end = limit
		}
		if end.After(last) {
			last = end
		}
	}
	return last
}

// endOf returns when a row's machines end, as far as known: the latest possible time before they
// run, and now once they are being deleted.
func endOf(r view.Row, now time.Time) time.Time {
	switch {
	case r.State == view.Deleting:
		return now
	case !r.EndsAt.IsZero():
		return r.EndsAt
	case r.Lease > 0:
		return r.Since.Add(time.Duration(r.Lease))
	}
	return now
}

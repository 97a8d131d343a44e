package view

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// remark is a row's additional detail: a word for the cause instead of Google's error message. It
// may be empty.
type remark struct {
	known string // "last known at …"; empty: current
	text  string
	next  string // next step at a time, such as "retrying"
	at    time.Time
}

func (r Row) remark(now time.Time) remark {
	var m remark
	if !r.KnownAt.IsZero() {
		m.known = "last known at " + Moment(r.KnownAt, now)
	}
	switch {
	case r.State == Returning:
		m.text = "returned to Slurm: " + r.Obstacle
	case len(r.release) > 0:
		m.text = r.Obstacle + "; once fixed: scontrol release " + strings.Join(r.release, ",")
	case r.State == Pending:
		m.text, m.next, m.at = r.Obstacle, "expected to start", r.NextAt
		switch {
		case r.begins && len(r.Jobs) > 1:
			m.next = "the first can start"
		case r.begins:
			m.next = "can start"
		case len(r.Jobs) > 1:
			m.next = "the first is expected to start"
		}
	case r.failing():
		m.text = joined(r.cause(), r.retries(now))
	default:
		m.text, m.next, m.at = r.cause(), "retrying", r.NextAt
		switch r.State {
		case Queued:
			m.next, m.at = "gives up", r.GiveUpAt
		case Idle:
			m.next, m.at = "kept for the next job; powers down", r.KeptTo
		}
	}
	if m.at.IsZero() {
		m.next = ""
	}
	return m
}

// failing reports whether the calls that create the row's machines fail and are repeated in every
// pass.
func (r Row) failing() bool { return r.State == Waiting && !r.FailingSince.IsZero() }

// retries describes the failed calls since a time, and when the next call follows.
func (r Row) retries(now time.Time) string {
	since := Moment(r.FailingSince, now)
	if r.RetryEvery == 0 {
		return "tried again in the next pass; failed once at " + since
	}
	return fmt.Sprintf("tried again every %s; failed %d times since %s", Span(time.Duration(r.RetryEvery)), r.Failed, since)
}

// said formats the remark of one or more rows. later means that some of the rows have later times.
func (m remark) said(now time.Time, later bool) string {
	when := ""
	if m.next != "" {
		when = m.next + " at " + Moment(m.at, now)
	}
	if later {
		when += " and later"
	}
	return joined(m.known, m.text, when)
}

// Detail returns a row's additional detail.
func (r Row) Detail(now time.Time) string { return r.remark(now).said(now, false) }

// Details returns the lines to show below rows. If several rows have the same detail, except for its
// time, it appears once, below the last of them.
func Details(rows []Row, now time.Time) []string {
	lines := make([]string, len(rows))
	alike := map[remark][]int{} // indices of rows, by their remark without its time
	for i, r := range rows {
		m := r.remark(now)
		m.at = time.Time{}
		alike[m] = append(alike[m], i)
	}
	for m, at := range alike {
		var names []string
		var times []time.Time
		for _, i := range at {
			names, times = append(names, rows[i].names()...), append(times, rows[i].remark(now).at)
		}
		m.at = slices.MinFunc(times, time.Time.Compare)
		text := m.said(now, m.at.Before(slices.MaxFunc(times, time.Time.Compare)))
		if text != "" && len(at) > 1 {
			text = abridged(names, 40) + ": " + text
		}
		lines[at[len(at)-1]] = text
	}
	return lines
}

// names returns a row's jobs, or its nodes if it lacks jobs.
func (r Row) names() []string {
	if len(r.ShownAs) > 0 {
		return r.ShownAs
	}
	return []string{r.Nodes.String()}
}

// abridged returns as many names as there is room for, at least one, and the number of omitted
// names.
func abridged(names []string, room int) string {
	text := ""
	for i, name := range names {
		next := name
		if i > 0 {
			next = text + "," + name
		}
		if i > 0 && len(next) > room {
			return fmt.Sprintf("%s +%d", text, len(names)-i)
		}
		text = next
	}
	return text
}

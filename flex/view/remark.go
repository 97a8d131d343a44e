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
	case r.State == Returned:
		m.text = "returned to Slurm: " + r.Obstacle
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
		m.text = r.failure(Moment(r.FailingSince, now))
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

// failure describes the failed calls since a time, and when the next call follows.
func (r Row) failure(since string) string {
	if r.RetryEvery == 0 {
		return fmt.Sprintf("%s, once, at %s, tried again in the next pass", r.cause(), since)
	}
	return fmt.Sprintf("%s, %d times since %s, tried again every %s", r.cause(), r.Failed, since, Span(time.Duration(r.RetryEvery)))
}

// said formats the remark of one or more rows. later means that some of the rows have later times.
func (m remark) said(now time.Time, later bool) string {
	parts := []string{m.known, m.text}
	if m.next != "" {
		when := m.next + " at " + Moment(m.at, now)
		if later {
			when += " and later"
		}
		parts = append(parts, when)
	}
	return strings.Join(slices.DeleteFunc(parts, func(part string) bool { return part == "" }), "; ")
}

// Detail returns a row's additional detail.
func (r Row) Detail(now time.Time) string { return r.remark(now).said(now, false) }

// details returns the lines to show below rows. If several rows of a nodeset have the same detail,
// it appears once, below the last of them.
func details(rows []Row, now time.Time) []string {
	lines := make([]string, len(rows))
	type likeness struct {
		nodeset string
		remark  remark // without the time
	}
	alike := map[likeness][]int{} // indices of rows
	for i, r := range rows {
		m := r.remark(now)
		m.at = time.Time{}
		key := likeness{r.NodeSet, m}
		alike[key] = append(alike[key], i)
	}
	for _, at := range alike {
		var names []string
		first := rows[at[0]].remark(now)
		later := false
		for _, i := range at {
			m := rows[i].remark(now)
			later = later || !m.at.Equal(first.at)
			if m.at.Before(first.at) {
				first = m
			}
			names = append(names, rows[i].names()...)
		}
		text := first.said(now, later)
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
	return []string{r.Nodes}
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

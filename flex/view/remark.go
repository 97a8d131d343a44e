package view

import (
	"fmt"
	"strings"
	"time"

	"slurmflex/flex/plan/scene"
)

// remark is a row's additional detail, with a word for the cause instead of Google's error message.
// It may be empty.
type remark struct {
	text string
	next string // what happens next, at that time
	at   time.Time
}

func (r Row) remark(now time.Time) remark {
	m := remark{r.cause(), "retrying at", r.NextAt}
	switch {
	case r.State == Returning:
		m.text = "returned to Slurm: " + m.text
	case len(r.release) > 0:
		m = remark{text: m.text + "; once fixed: scontrol release " + strings.Join(r.release, ",")}
	case r.State == Pending && r.begins:
		m.next = "cannot start before"
	case r.State == Pending && len(r.Jobs) > 1:
		m.next = "the first is expected to start at"
	case r.State == Pending:
		m.next = "expected to start at"
	case r.failing():
		m = remark{text: joined(m.text, r.retries(now))}
	case r.State == Queued:
		m.next, m.at = "gives up at", r.GiveUpAt
	case r.State == Idle:
		m.next, m.at = "kept for the next job; powers down at", r.KeptTo
	}
	if m.at.IsZero() {
		m.next = ""
	}
	if !r.KnownAt.IsZero() {
		m.text = joined("last known at "+Moment(r.KnownAt, now), m.text)
	}
	return m
}

// said formats the remark.
func (m remark) said(now time.Time) string {
	if m.at.IsZero() {
		return m.text
	}
	return joined(m.text, m.next+" "+Moment(m.at, now))
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

// Details returns the lines to show below rows. A detail of several rows appears once, below the last
// of them, with the earliest of their times.
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
		var latest time.Time
		for _, i := range at {
			due := rows[i].remark(now).at
			names, m.at, latest = append(names, rows[i].names()...), scene.Earlier(m.at, due), scene.Later(latest, due)
		}
		text := m.said(now)
		if Moment(latest, now) != Moment(m.at, now) {
			text += " or later"
		}
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

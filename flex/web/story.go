package web

import (
	"slices"
	"time"

	"slurmflex/flex/view"
)

// jobStory shows the events of a job as a bar and as a list.
type jobStory struct {
	Events []eventData
	Pieces []piece
	Ticks  []tick
	Keys   []key
	Desc   string
}

type eventData struct {
	At        time.Time
	When, Gap string // the time, and the time since the previous event
	Kind      string
	Text      string
}

// phases maps an event to the job's state after it. Other events do not change the state.
var phases = map[string]string{
	view.EventSubmitted: "pending", view.EventRequeued: "pending", view.EventAllocated: "waiting", view.EventRequested: "waiting",
	view.EventGranted: "booting", view.EventRunning: "running", view.EventLost: "trouble", view.EventReturned: "trouble",
}

// phaseKeys are the patterns of the bar.
var phaseKeys = []key{
	{"pending", "in Slurm's queue"},
	{"waiting", "waiting for machines"},
	{"booting", "booting"},
	{"running", "running"},
	{"trouble", "without its machines"},
}

// newStory draws a job's recorded events; nil without any.
func newStory(j *view.Past, now time.Time) *jobStory {
	if j == nil {
		return nil
	}
	events := j.Events
	s := &jobStory{}
	shown := span{from: events[0].At, to: now}
	if !j.EndedAt.IsZero() {
		shown.to = j.EndedAt
	}
	kind := "waiting"
	used := map[string]bool{}
	for i, e := range events {
		data := eventData{At: e.At, When: view.Moment(e.At, now), Kind: e.Kind, Text: e.Text}
		if i > 0 {
			data.Gap = view.Span(e.At.Sub(events[i-1].At))
		}
		s.Events = append(s.Events, data)
		if phase, known := phases[e.Kind]; known {
			kind = phase
		}
		end := shown.to
		if i+1 < len(events) {
			end = events[i+1].At
		}
		if p := shown.piece(e.At, end, kind); !p.empty {
			s.Pieces = append(s.Pieces, p)
			used[kind] = true
		}
	}
	s.Keys = slices.DeleteFunc(slices.Clone(phaseKeys), func(k key) bool { return !used[k.Kind] })
	last := "now"
	if !j.EndedAt.IsZero() {
		last = view.Moment(j.EndedAt, now)
	}
	s.Ticks = []tick{{"0%", "start", s.Events[0].When}, {"100%", "end", last}}
	s.Desc = "From " + s.Events[0].When + " to " + last + "; the list has each event."
	return s
}

package view

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Past is the recorded history of a job. The job's page and `slurmflex why` render it.
//
// Whether the job has ended follows only from Slurm's queue, because a history may also end with a
// requeue.
type Past struct {
	Job Job `json:"job"` // as last seen; from the history only its numbers, owner, partition and told
	// EndedAt is when the job had left Slurm's queue; zero: it had not.
	EndedAt time.Time `json:"ended_at,omitzero"`
	Since   time.Time `json:"recorded_since,omitzero"` // start of the recording
	Events  []Event   `json:"events"`                  // oldest first
	From    string    `json:"recorded_in,omitempty"`   // folder of the history with the record
	Use     *Use      `json:"use,omitempty"`           // the sum of the job's waits and runs, with the machines of the last run; not in /story.json
}

// Event is something that happened to a job.
type Event struct {
	At   time.Time `json:"at"`
	Kind string    `json:"event"`          // what happened, in words
	Text string    `json:"text,omitempty"` // further details
	// Machines are those that the job runs on from then on.
	Machines []Machines `json:"machines,omitempty"`
}

// The limits of a story's text.
const (
	shownEvents = 100
	eventWidth  = 200 // characters
)

// These are the events of a job, in their usual order. Slurm and Compute provide the times of some
// events. The others have the time of the pass that first saw them.
const (
	EventSubmitted = "seen in Slurm's queue" // for the first time
	EventAllocated = "nodes allocated"
	EventRequested = "machines requested"
	EventFailed    = "attempt failed"
	EventWithdrawn = "request withdrawn"
	EventGranted   = "machines created"
	EventBooted    = "nodes up"
	EventRunning   = "running"
	EventSignalled = "signalled"
	EventLost      = "machines lost"
	EventReturned  = "nodes returned to Slurm"
	EventRequeued  = "back in Slurm's queue"
	EventEnded     = "ended"
)

// text lists the events with the time since the preceding event, and their sum.
func (p *Past) text(now time.Time) string {
	var text strings.Builder
	text.WriteString("Story:\n")
	for i, e := range p.Events {
		if more := len(p.Events) - shownEvents; more > 0 && i > 0 && i <= more {
			if i == more {
				fmt.Fprintf(&text, "  … %s\n", Count(more, "more event"))
			}
			continue
		}
		gap := ""
		if i > 0 {
			gap = "+" + Span(e.At.Sub(p.Events[i-1].At))
		}
		what := e.Kind
		if e.Text != "" {
			what += ": " + e.Text
		}
		fmt.Fprintf(&text, "  %s  %-6s  %s\n", Moment(e.At, now), gap, Clip(Printable(what), eventWidth))
	}
	if p.Use != nil && p.Use.MachineHours > 0 {
		fmt.Fprintf(&text, "  In total: %s.\n", p.Use.whole())
	}
	if since := p.Recorded(now); since != "" {
		fmt.Fprintf(&text, "  %s\n", since)
	}
	return text.String()
}

// Recorded names the source of the record.
func (p *Past) Recorded(now time.Time) string {
	switch {
	case p.From != "" && !p.Since.IsZero():
		return fmt.Sprintf("Recorded by the daemon since %s; earlier events are from the history in %s.", Moment(p.Since, now), p.From)
	case p.From != "":
		return fmt.Sprintf("From the history in %s.", p.From)
	case !p.Since.IsZero():
		return fmt.Sprintf("Recorded since %s, when the daemon started.", Moment(p.Since, now))
	}
	return ""
}

// requeue records that the job, which is still in the queue, went back there when its record ends
// with a run that is over. The history does not know whether such a job has ended.
func (p *Past) requeue() {
	if where, _ := p.ran(); where == "" || p.EndedAt.IsZero() {
		return
	}
	p.Events = slices.Concat(p.Events, []Event{{At: p.EndedAt, Kind: EventRequeued}})
	slices.SortStableFunc(p.Events, func(a, b Event) int { return a.At.Compare(b.At) })
}

// ran returns where the job ran last and when it started there, if its last recorded nodes ran it.
func (p *Past) ran() (where string, start time.Time) {
	for _, e := range p.Events {
		switch e.Kind {
		case EventRunning:
			where, start = e.Text, e.At
		case EventRequeued:
			where, start = "", time.Time{}
		}
	}
	return where, start
}

// owned adds the job's owner to its name.
func (j Job) owned(name string) string {
	if j.User == "" {
		return name
	}
	return name + " (" + j.User + ")"
}

// Is reports whether squeue shows the job by that name, or whether the name is the job's raw id.
// The raw id of an array's last task is also the id of the array.
func (j Job) Is(name string) bool {
	return j.Name() == name || fmt.Sprint(j.ID) == name && j.ID != j.ArrayID
}

// Reused is the longest time between two records of the same job. Records that are further apart
// belong to two jobs: slurmctld starts again from the first number after MaxJobId, or after losing
// its state.
const Reused = 30 * 24 * time.Hour

// isOf reports whether the record is of the job that the user has, and that was seen at that time.
// Otherwise it is of an earlier job with the same number.
func (p *Past) isOf(user string, at time.Time) bool {
	return (p.Job.User == "" || user == "" || p.Job.User == user) && (p.EndedAt.IsZero() || at.Sub(p.EndedAt) <= Reused)
}

// Join adds the events of the history to those that the daemon saw, without duplicates. It leaves
// out the history of an earlier job with the same number.
func (p *Past) Join(history *Past) *Past {
	switch {
	case p == nil:
		return history
	case history == nil || len(p.Events) > 0 && !history.isOf(p.Job.User, p.Events[0].At):
		return p
	}
	joined := *p
	joined.Events = slices.Clone(p.Events)
	if history.EndedAt.Before(p.Since) { // the daemon has seen the job since
		history = new(*history)
		history.requeue()
	}
	for _, e := range history.Events {
		if e.At.Before(p.Since) && !slices.ContainsFunc(p.Events, e.isNear) {
			joined.Events, joined.From = append(joined.Events, e), history.From
		}
	}
	slices.SortStableFunc(joined.Events, func(a, b Event) int { return a.At.Compare(b.At) })
	return &joined
}

// isNear reports whether two events are the same event, recorded by different passes.
func (e Event) isNear(other Event) bool {
	return e.Kind == other.Kind && e.At.Sub(other.At).Abs() < time.Minute
}

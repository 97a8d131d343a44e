package view

import (
	"fmt"
	"strings"
	"time"
)

// Past is the recorded story of a job. The job's page and `slurmflex why` render it.
type Past struct {
	Job Job `json:"job"` // as last seen
	// EndedAt is when the job had left Slurm's queue; zero: it had not.
	EndedAt time.Time `json:"ended_at,omitzero"`
	Events  []Event   `json:"events"`        // oldest first
	Use     *Use      `json:"use,omitempty"` // the sum of the job's waits and runs, with the machines of the last run; not in /story.json
}

// Event is something that happened to a job.
type Event struct {
	At   time.Time `json:"at"`
	Kind string    `json:"event"`          // what happened, in words
	Text string    `json:"text,omitempty"` // further details
	// Machines are those that the job runs on from then on.
	Machines []Machines `json:"machines,omitempty"`
}

// eventWidth is the longest text of an event that is shown, in characters.
const eventWidth = 200

// These are the events of a job, in their usual order. Slurm and Compute provide the times of some
// events. The others have the time of the pass that first saw them.
const (
	EventSubmitted = "seen in Slurm's queue" // for the first time
	EventAllocated = "nodes allocated"
	EventRequested = "machines requested"
	EventFailed    = "attempt failed"
	EventGranted   = "machines created"
	EventBooted    = "nodes up"
	EventRunning   = "running"
	EventSignalled = "signalled"
	EventLost      = "machines lost"
	EventReturned  = "nodes returned to Slurm"
	EventRequeued  = "back in Slurm's queue"
	EventEnded     = "ended"
)

// Step is an event of a story, for people.
type Step struct {
	Event
	When, Gap string // the time, and the time since the preceding event
}

// Steps returns the events of the story.
func (p *Past) Steps(now time.Time) (all []Step) {
	for i, e := range p.Events {
		gap := ""
		if i > 0 {
			gap = Span(e.At.Sub(p.Events[i-1].At))
		}
		all = append(all, Step{e, Moment(e.At, now), gap})
	}
	return all
}

// text lists the events and their sum.
func (p *Past) text(now time.Time) string {
	var text strings.Builder
	text.WriteString("Story:\n")
	for _, s := range p.Steps(now) {
		what, gap := s.Kind, ""
		if s.Gap != "" {
			gap = "+" + s.Gap
		}
		if s.Text != "" {
			what += ": " + s.Text
		}
		fmt.Fprintf(&text, "  %s  %-6s  %s\n", s.When, gap, Clip(Printable(what), eventWidth))
	}
	if p.Use != nil && p.Use.MachineHours > 0 {
		fmt.Fprintf(&text, "  In total: %s.\n", p.Use)
	}
	return text.String()
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

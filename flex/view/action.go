package view

import (
	"slices"
	"time"

	"slurmflex/flex/plan"
	"slurmflex/slurm"
)

// Action is something that slurmflex has done, or tried to.
type Action struct {
	At    time.Time `json:"at"` // when it was begun, the last time
	Took  Seconds   `json:"took_seconds"`
	Kind  string    `json:"kind"` // such as create_request
	What  string    `json:"what"`
	Why   string    `json:"why"`
	Error string    `json:"error,omitempty"` // why it was not done; empty if it was
	Times int       `json:"times"`           // in a row, with the same outcome

	Group string `json:"group,omitempty"` // that it was about
	Job   uint32 `json:"job,omitzero"`
	Nodes string `json:"nodes,omitempty"` // a hostlist
}

// Record is the record of an action that has come to an end.
func Record(a plan.Action, begun time.Time, took time.Duration, err error) Action {
	about := a.About()
	r := Action{
		At: second(begun), Took: Seconds(took.Round(time.Millisecond)), Kind: about.Kind, What: a.String(), Why: a.Because(), Times: 1,
		Group: about.Group, Job: about.Job, Nodes: slurm.Fold(about.Nodes),
	}
	if err != nil {
		r.Error = err.Error()
	}
	return r
}

// HistorySize is how many actions a History keeps.
const HistorySize = 300

// History is the last actions of a daemon. It is not for concurrent use.
type History struct {
	actions []Action // the oldest first
}

// Add adds an action. What fails again and again is kept once, and counted.
// Messages to jobs are left out: the job shows them, and they would soon fill the
// history.
func (h *History) Add(a Action) {
	if a.Kind == (plan.CommentJob{}).About().Kind && a.Error == "" {
		return
	}
	same := func(old Action) bool { return a.Error != "" && old.What == a.What && old.Error == a.Error }
	if i := slices.IndexFunc(h.actions, same); i >= 0 {
		a.Times += h.actions[i].Times
		h.actions = slices.Delete(h.actions, i, i+1)
	}
	h.actions = append(h.actions, a)
	if len(h.actions) > HistorySize {
		h.actions = slices.Delete(h.actions, 0, len(h.actions)-HistorySize)
	}
}

// Last returns the actions, the newest first.
func (h *History) Last() []Action {
	last := append([]Action{}, h.actions...)
	slices.Reverse(last)
	return last
}

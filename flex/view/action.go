package view

import (
	"slices"
	"time"

	"slurmflex/flex/plan/action"
)

// Action is something that slurmflex did or tried to do.
type Action struct {
	At    time.Time `json:"at"` // start of the last attempt
	Took  Seconds   `json:"took_seconds"`
	Kind  string    `json:"kind"` // for example create_request
	What  string    `json:"what"`
	Why   string    `json:"why"`
	Error string    `json:"error,omitempty"` // why the action failed; empty if it succeeded
	Times int       `json:"times"`           // consecutive attempts with the same outcome

	Group string   `json:"group,omitempty"` // subject of the action
	Job   uint32   `json:"job,omitzero"`
	Nodes Hostlist `json:"nodes,omitempty"` // hostlist
}

// Record returns the record of an action that has ended.
func Record(a action.Action, begun time.Time, took time.Duration, err error) Action {
	about := a.About()
	r := Action{
		At: second(begun), Took: Seconds(took.Round(time.Millisecond)), Kind: about.Kind, What: a.String(), Why: a.Because(), Times: 1,
		Group: about.Group, Job: about.Job, Nodes: about.Nodes,
	}
	if err != nil {
		r.Error = err.Error()
	}
	return r
}

// HistorySize is the number of actions that a History keeps.
const HistorySize = 300

// History holds the last actions of a daemon. It is not safe for concurrent use.
type History struct {
	actions []Action // oldest first
}

// Add adds an action. It keeps repeated failures as one action with a count. It omits messages to
// jobs: the job shows them, and they would soon fill the history.
func (h *History) Add(a Action) {
	if a.Kind == (action.CommentJob{}).About().Kind && a.Error == "" {
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

// Last returns the actions, newest first.
func (h *History) Last() []Action {
	last := append([]Action{}, h.actions...)
	slices.Reverse(last)
	return last
}

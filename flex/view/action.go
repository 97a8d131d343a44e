package view

import (
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
	about := action.About(a)
	r := Action{
		At: second(begun), Took: Seconds(took.Round(time.Millisecond)), Kind: about.Kind, What: about.Text, Why: a.Because(), Times: 1,
		Group: about.Group, Job: about.Job, Nodes: about.Nodes,
	}
	if err != nil {
		r.Error = err.Error()
	}
	return r
}

package view

import (
	"slices"
	"time"

	"slurmflex/flex/plan"
	"slurmflex/mig"
	"slurmflex/slurm"
)

// Action is something that slurmflex has done, or tried to.
type Action struct {
	At    time.Time `json:"at"` // when it was begun, the last time
	Took  Seconds   `json:"took_seconds"`
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
	r := Action{At: second(begun), Took: Seconds(took.Round(time.Millisecond)), What: a.String(), Why: a.Because(), Times: 1}
	if err != nil {
		r.Error = err.Error()
	}
	var nodes []string
	switch a := a.(type) {
	case plan.CreateGroup:
		r.Group, r.Job = a.Spec.Name, a.Spec.Stamp.Job
	case plan.CreatePolicy:
		r.Group, r.Job = a.Spec.Name, a.Spec.Stamp.Job
	case plan.CreateRequest:
		r.Group, nodes = a.Group, a.Spec.Instances
	case plan.BulkInsert:
		r.Group, r.Job, nodes = a.Group, a.Spec.Stamp.Job, a.Spec.Instances
	case plan.CancelRequest:
		r.Group = a.Group
	case plan.DeleteRequest:
		r.Group = a.Group
	case plan.DeleteInstances:
		r.Group, nodes = a.Group, mig.Names(a.Instances)
	case plan.DeleteVMs:
		nodes = mig.Names(a.Instances)
	case plan.DeleteGroup:
		r.Group = a.Group
	case plan.DeletePolicy:
		r.Group = a.Name
	case plan.SetNodes:
		nodes = a.Nodes
	case plan.CreateReservation:
		nodes = a.Nodes
	case plan.SetReservation:
		nodes = a.Nodes
	case plan.TellJob:
		r.Job = a.Job
	case plan.GiveBack:
		r.Job, nodes = a.Job, a.Nodes
	}
	r.Nodes = slurm.Fold(nodes)
	return r
}

// HistorySize is how many actions a History keeps.
const HistorySize = 300

// History is the last actions of a daemon. It is not for concurrent use.
type History struct {
	actions []Action // the oldest first
}

// Add adds an action. What fails again and again is kept once, and counted.
func (h *History) Add(a Action) {
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
	last := slices.Clone(h.actions)
	slices.Reverse(last)
	return append([]Action{}, last...)
}

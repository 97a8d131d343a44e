package past

import (
	"time"

	"slurmflex/flex/view"
)

// Sample is the number of waiting and running nodes and GPUs at a time.
type Sample struct {
	At          time.Time
	Nodes, GPUs Counts
	Unknown     bool // the GPUs are unknown, because a machine type is
}

// Counts has a number for each state that costs time or money.
type Counts struct{ Waiting, Booting, Running, Idle int }

// Sum returns the total over these states.
func (c Counts) Sum() int { return c.Waiting + c.Booting + c.Running + c.Idle }

// sample counts the nodes and GPUs.
func (l *look) sample() Sample {
	s, gpus := Sample{At: l.at}, l.gpus()
	add := func(nodeset string, state view.State, n int) {
		if s.Nodes.add(state, n) {
			of, known := gpus[nodeset]
			s.GPUs.add(state, n*of)
			s.Unknown = s.Unknown || !known
		}
	}
	for _, w := range l.waits {
		add(w.NodeSet, view.State(w.Stage), len(w.Nodes))
	}
	for _, u := range l.unserved {
		add(u.Group.Stamp.NodeSet, u.State, len(u.Request.Instances))
	}
	for in := range l.machines {
		if in.Node != nil {
			add(in.Node.Set.Name, view.StateOf(in), 1)
		}
	}
	return s
}

// add counts n nodes in a state, and reports whether it is one of the counted states.
func (c *Counts) add(state view.State, n int) bool {
	switch state {
	case view.Asking, view.Queued, view.Waiting, view.Returned:
		c.Waiting += n
	case view.Booting:
		c.Booting += n
	case view.Starting, view.Running:
		c.Running += n
	case view.Idle:
		c.Idle += n
	default:
		return false
	}
	return true
}

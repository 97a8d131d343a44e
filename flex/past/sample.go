package past

import (
	"time"

	"slurmflex/flex/view"
	"slurmflex/mig"
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

// SampleOf counts the nodes and GPUs in a view.
func SampleOf(v view.View) Sample {
	s := Sample{At: v.SeenAt}
	for _, r := range v.Rows {
		if s.Nodes.add(r, r.Count) {
			set, _ := v.NodeSet(r.NodeSet)
			machine, known := mig.KnownMachine(set.Machine)
			s.GPUs.add(r, r.Count*machine.GPUs)
			s.Unknown = s.Unknown || !known
		}
	}
	return s
}

// add counts a row n times, and reports whether the row is in one of the states.
func (c *Counts) add(r view.Row, n int) bool {
	switch {
	case r.Waits():
		c.Waiting += n
	case r.State == view.Booting:
		c.Booting += n
	case r.State == view.Starting, r.State == view.Running:
		c.Running += n
	case r.State == view.Idle:
		c.Idle += n
	default:
		return false
	}
	return true
}

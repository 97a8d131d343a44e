package past

import (
	"time"

	"slurmflex/flex/view"
	"slurmflex/mig"
)

// Sample is how many nodes and GPUs waited and ran at a time.
type Sample struct {
	At          time.Time
	Nodes, GPUs Counts
	Unknown     bool // the GPUs, because a machine type is not known
}

// Counts is a number for each of the states that cost time or money.
type Counts struct{ Waiting, Booting, Running, Idle int }

// Sum is how many there are in all of these states.
func (c Counts) Sum() int { return c.Waiting + c.Booting + c.Running + c.Idle }

// SampleOf counts what a view shows.
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

// add counts a row n times, and reports whether it is in one of the states.
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

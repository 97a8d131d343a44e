package view

import (
	"slices"
	"strings"
	"time"

	"slurmflex/mig"
	"slurmflex/slurm"
)

// Totals is the view in numbers.
type Totals struct {
	Waiting, Running, Held int // jobs
	WaitingNodes, Machines int
	GPUs                   int // of the machines; 0 also if that is not known of each
	LongestWait            time.Duration
	NextEnd                time.Time // of a lease; zero if none is known
}

// Totals counts what the view shows.
func (v View) Totals() Totals {
	var t Totals
	unknown := false // the GPUs of some machine
	waits, runs := map[uint32]bool{}, map[uint32]bool{}
	for _, r := range v.Rows {
		switch {
		case r.Waits():
			t.WaitingNodes += r.Count
			add(waits, r.Jobs)
			if !r.Since.IsZero() {
				t.LongestWait = max(t.LongestWait, v.SeenAt.Sub(r.Since))
			}
		case r.State == Booting:
			add(waits, r.Jobs)
		case r.State == Running:
			add(runs, r.Jobs)
		}
		if r.Waits() || slices.Contains([]State{Cancelling, Lost, Leaving}, r.State) {
			continue
		}
		t.Machines += r.Count
		set, _ := v.NodeSet(r.NodeSet)
		machine, known := mig.KnownMachine(set.Machine)
		t.GPUs += r.Count * machine.GPUs
		unknown = unknown || !known
		if !r.EndsAt.IsZero() && (t.NextEnd.IsZero() || r.EndsAt.Before(t.NextEnd)) {
			t.NextEnd = r.EndsAt
		}
	}
	if unknown {
		t.GPUs = 0
	}
	for _, j := range v.Jobs {
		switch {
		case !slurm.JobState(j.State).Waits() || !v.OnFlexNodes(j):
		case strings.HasPrefix(j.Reason, "JobHeld"):
			t.Held++
		default:
			waits[j.ID] = true
		}
	}
	for id := range waits {
		delete(runs, id)
	}
	t.Waiting, t.Running = len(waits), len(runs)
	return t
}

// OnFlexNodes reports whether the job is of a partition with flex-start nodes.
func (v View) OnFlexNodes(j Job) bool { return len(v.setsOf(j.Partition)) > 0 }

func add(set map[uint32]bool, ids []uint32) {
	for _, id := range ids {
		set[id] = true
	}
}

package view

import (
	"slices"
	"time"

	"slurmflex/flex/plan/scene"
)

// Totals holds the view's totals.
type Totals struct {
	Waiting, Running, Held int // numbers of jobs
	WaitingNodes, Machines int
	GPUs                   gpuCounts // zero also if some machine types are unknown
	LongestWait            time.Duration
	NextEnd                time.Time // of leases; zero if unknown
}

// gpuCounts counts the GPUs of machines and requests.
type gpuCounts struct{ Used, Idle, Requested int }

// Totals counts what the view shows.
func (v View) Totals() Totals {
	var t Totals
	unknown := false // some rows have an unknown number of GPUs
	waits, runs := map[uint32]bool{}, map[uint32]bool{}
	for _, r := range v.Rows {
		gpus, known := v.GPUsOf(r)
		switch r.State {
		case Starting, Running:
			t.GPUs.Used += gpus
		case Idle:
			t.GPUs.Idle += gpus
		case Requesting, Queued:
			t.GPUs.Requested += gpus
		default:
			known = true // counts no GPUs
		}
		unknown = unknown || !known
		switch {
		case r.Waits():
			t.WaitingNodes += r.Count
			add(waits, r.Jobs)
			if !r.Since.IsZero() {
				t.LongestWait = max(t.LongestWait, v.SeenAt.Sub(r.Since))
			}
		case r.State == Booting, r.State == Starting:
			add(waits, r.Jobs)
		case r.State == Running:
			add(runs, r.Jobs)
		}
		if r.Waits() || slices.Contains([]State{Cancelling, Lost, Deleting}, r.State) {
			continue
		}
		t.Machines += r.Count
		t.NextEnd = scene.Earlier(t.NextEnd, r.EndsAt)
	}
	if unknown {
		t.GPUs = gpuCounts{}
	}
	for _, j := range v.Jobs {
		switch {
		case !j.State.Waits() || len(v.setsOf(j.Partition)) == 0:
		case j.isHeld():
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

func add(set map[uint32]bool, ids []uint32) {
	for _, id := range ids {
		set[id] = true
	}
}

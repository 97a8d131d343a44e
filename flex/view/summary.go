package view

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"slurmflex/slurm"
)

// Summary is the view in a line: jobs and nodes that wait and run, GPUs in use, idle
// and requested, the longest wait, the next end of a lease, jobs that are held, problems.
func (v View) Summary() string {
	var longest time.Duration
	var ends time.Time
	waiting, up := 0, 0
	gpus, unknown := map[State]int{}, false // unknown: those of some machine
	waits, runs := map[uint32]bool{}, map[uint32]bool{}
	for _, r := range v.Rows {
		n, known := v.gpus(r)
		gpus[r.State] += n
		unknown = unknown || !known && slices.Contains([]State{Running, Idle, Asking, Queued}, r.State)
		switch {
		case r.Waits():
			waiting += r.Count
			add(waits, r.Jobs)
			if !r.Since.IsZero() {
				longest = max(longest, v.SeenAt.Sub(r.Since))
			}
		case r.State == Booting:
			add(waits, r.Jobs)
		case r.State == Running:
			add(runs, r.Jobs)
		}
		if r.Waits() || slices.Contains([]State{Cancelling, Lost, Leaving}, r.State) {
			continue
		}
		up += r.Count
		if !r.EndsAt.IsZero() && (ends.IsZero() || r.EndsAt.Before(ends)) {
			ends = r.EndsAt
		}
	}
	held := 0
	for _, j := range v.Jobs {
		switch {
		case !slurm.JobState(j.State).Waits() || len(v.setsOf(j.Partition)) == 0:
		case strings.HasPrefix(j.Reason, "JobHeld"):
			held++
		default:
			waits[j.ID] = true
		}
	}
	for id := range waits {
		delete(runs, id)
	}
	parts := []string{
		fmt.Sprintf("jobs: %d waiting, %d running, %d held", len(waits), len(runs), held),
		fmt.Sprintf("nodes: %d waiting, %d with a machine", waiting, up),
	}
	used, free, requested := gpus[Running], gpus[Idle], gpus[Asking]+gpus[Queued]
	if used+free+requested > 0 && !unknown {
		parts = append(parts, fmt.Sprintf("GPUs: %d in use, %d idle, %d requested", used, free, requested))
	}
	if longest > 0 {
		parts = append(parts, "longest wait: "+Span(longest))
	}
	if !ends.IsZero() {
		parts = append(parts, "next lease ends in "+Span(ends.Sub(v.SeenAt)))
	}
	if n := len(v.Problems); n > 0 {
		parts = append(parts, Count(n, "problem"))
	}
	if v.Unread() {
		parts = append(parts, "some regions could not be read")
	}
	return strings.Join(parts, "; ")
}

func add(set map[uint32]bool, ids []uint32) {
	for _, id := range ids {
		set[id] = true
	}
}

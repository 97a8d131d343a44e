package metrics

import (
	"slices"
	"time"

	"slurmflex/flex/plan/scene"
	"slurmflex/slurm"
)

// The uses of a machine.
const (
	used     = "used"     // its node has a job and is up
	reused   = "reused"   // used, but requested for another job
	kept     = "kept"     // its node is idle, no longer than keep_idle
	salvaged = "salvaged" // kept by a job that has lost other machines
	idle     = "idle"     // billed for anything else: boots, waits for a job, drains, shutdowns
)

// useOf returns the present use of a machine. held is true if a job that has lost other machines keeps it.
func useOf(in scene.Machine, isReused, held bool, now time.Time) string {
	n := in.Node
	switch {
	case !isRegistered(in):
		return idle
	case held:
		return salvaged
	case n.State.Base != slurm.Idle && isReused:
		return reused
	case n.State.Base != slurm.Idle:
		return used
	case n.Static || !now.Before(n.KeptUntil(in.Until())):
		return idle
	}
	return kept
}

// isRegistered reports whether Slurm shows the machine's node as registered.
func isRegistered(in scene.Machine) bool { return in.Node != nil && in.Node.State.Registered() }

// heldNodes returns the nodes with machines that jobs keep after losing others, until these jobs
// run.
func heldNodes(s *scene.Scene) map[string]bool {
	nodes := map[string]bool{}
	for _, d := range s.Doors {
		for _, name := range s.Survivors(d) {
			nodes[name] = true
		}
	}
	return nodes
}

// isReused reports whether a machine that was requested for a job has jobs, and none that it was
// requested for. A machine of a shared group counts as requested for any of the jobs that share it,
// because a started job does not show whether the machine is older.
func isReused(s *scene.Scene, in scene.Machine) bool {
	stamp, jobs := in.Origin, s.Named(in.Name).Holders
	return stamp.ForJobs() && len(jobs) > 0 && !slices.ContainsFunc(jobs, func(j *slurm.Job) bool { return scene.IsFor(stamp, j) })
}

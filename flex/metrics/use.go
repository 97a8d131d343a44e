package metrics

import (
	"time"

	"slurmflex/flex/history"
	"slurmflex/flex/plan/demand"
	"slurmflex/flex/plan/scene"
	"slurmflex/flex/plan/sweeps"
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

// useOf returns the present use of a machine. other is true if its jobs are not the job that it was
// requested for. held is true if a job that has lost other machines keeps it.
func useOf(in scene.Machine, other, held bool, now time.Time) string {
	n := in.Node
	switch {
	case !isRegistered(in):
		return idle
	case held:
		return salvaged
	case n.State.Base != slurm.Idle && other:
		return reused
	case n.State.Base != slurm.Idle:
		return used
	case n.Set.IsStatic(n.Index) || !now.Before(sweeps.KeptUntil(n.Set, *n.Node, in.Until())):
		return idle
	}
	return kept
}

// isRegistered reports whether Slurm shows the machine's node as registered.
func isRegistered(in scene.Machine) bool { return in.Node != nil && history.Registered(in.Node.State) }

// heldNodes returns the nodes with machines that jobs keep after losing others, until these jobs
// run.
func heldNodes(s *scene.Scene) map[string]bool {
	nodes := map[string]bool{}
	for _, d := range s.Doors() {
		for _, name := range demand.Survivors(s, d) {
			nodes[name] = true
		}
	}
	return nodes
}

// otherJob returns a job on a machine that was requested for a different job, if that job is not on
// the machine; 0 otherwise. A machine of a shared group counts as requested for any of the jobs
// that share it, because a started job does not show whether the machine is older.
func otherJob(s *scene.Scene, in scene.Machine) (other uint32) {
	stamp := s.StampOf(in)
	if !stamp.ForJobs() {
		return 0 // a static node, or not a slurmflex machine
	}
	for _, j := range s.HoldersOf(in.Name) {
		if scene.IsFor(stamp, j) {
			return 0
		}
		other = j.ID
	}
	return other
}

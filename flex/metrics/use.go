package metrics

import (
	"time"

	"slurmflex/config"
	"slurmflex/flex/history"
	"slurmflex/flex/plan"
	"slurmflex/flex/plan/scene"
	"slurmflex/mig"
	"slurmflex/slurm"
)

// The uses of a machine.
const (
	used     = "used"     // its node has a job and is up
	reused   = "reused"   // likewise, and the machine was requested for another job
	kept     = "kept"     // its node is idle, no longer than keep_idle
	salvaged = "salvaged" // a job that has lost others keeps it
	idle     = "idle"     // anything else that is paid for: boots, waits for a job, drains, shutdowns
)

// useOf is what a machine is used for now. Other: the jobs on it are not the one that it
// was requested for. Held: a job that has lost others keeps it.
func useOf(cfg *config.Config, in mig.Instance, node slurm.Node, other, held bool, now time.Time) string {
	set, index, _ := cfg.Find(in.Name)
	switch {
	case !history.Registered(node.State):
		return idle
	case held:
		return salvaged
	case node.State.Base != slurm.Idle && other:
		return reused
	case node.State.Base != slurm.Idle:
		return used
	case set.IsStatic(index) || !now.Before(plan.KeptUntil(set, node, in.Until())):
		return idle
	}
	return kept
}

// heldNodes returns the nodes whose machines jobs keep that have lost others, until these run.
func heldNodes(s *scene.Scene) map[string]bool {
	nodes := map[string]bool{}
	for _, d := range s.Doors() {
		for _, name := range plan.Survivors(s, d) {
			nodes[name] = true
		}
	}
	return nodes
}

// otherJob returns a job that is on a machine although the machine was requested for another job,
// which is not on it; 0 if there is none. A machine of a shared group was requested for any task of
// the array: a started job does not show whether it was before the machine.
func otherJob(s *scene.Scene, in scene.Machine) (other uint32) {
	stamp := s.StampOf(in)
	if stamp.Job == 0 && stamp.Array == 0 {
		return 0 // a static node, or not ours
	}
	for _, j := range s.HoldersOf(in.Name) {
		if stamp.IsFor(j.ID, j.Array()) {
			return 0
		}
		other = j.ID
	}
	return other
}

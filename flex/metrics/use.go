package metrics

import (
	"time"

	"slurmflex/config"
	"slurmflex/flex/history"
	"slurmflex/flex/plan"
	"slurmflex/mig"
	"slurmflex/slurm"
)

// The uses of a machine.
const (
	used   = "used"   // its node has a job and is up
	reused = "reused" // likewise, and the machine was requested for another job
	kept   = "kept"   // its node is idle, no longer than keep_idle
	idle   = "idle"   // anything else that is paid for: boots, waits for a job, drains, shutdowns
)

// useOf is what a machine is used for now. Other: the jobs on it are not the one that it
// was requested for.
func useOf(cfg *config.Config, in mig.Instance, node slurm.Node, other bool, now time.Time) string {
	set, index, _ := cfg.Find(in.Name)
	switch {
	case !history.Registered(node.State):
		return idle
	case node.State.Base != slurm.Idle && other:
		return reused
	case node.State.Base != slurm.Idle:
		return used
	case set.IsStatic(index) || !now.Before(plan.KeptUntil(set, node, in.Terminates)):
		return idle
	}
	return kept
}

// otherJobs are, by machine, a job that is on it although it was requested for another
// one, which is not on it.
func otherJobs(cfg *config.Config, snap plan.Snapshot) map[string]uint32 {
	stamps := make(map[mig.GroupID]mig.Stamp, len(snap.Groups))
	for _, g := range snap.Groups {
		stamps[g.ID()] = g.Stamp
	}
	requestedFor := map[string]uint32{}
	for _, in := range snap.Ours(cfg.Cluster) {
		requestedFor[in.Name] = in.Stamp.Job
		if in.Group != "" {
			requestedFor[in.Name] = stamps[in.GroupID()].Job
		}
	}
	others, own := map[string]uint32{}, map[string]bool{}
	for _, j := range snap.Jobs {
		if !j.State.HoldsNodes() {
			continue
		}
		for _, name := range j.Nodes {
			switch requestedFor[name] {
			case 0: // a static node, or not ours
			case j.ID:
				own[name] = true
			default:
				others[name] = j.ID
			}
		}
	}
	for name := range own {
		delete(others, name)
	}
	return others
}

package metrics

import (
	"slurmflex/flex/plan/scene"
	"time"

	"slurmflex/config"
	"slurmflex/flex/history"
	"slurmflex/flex/plan"
	"slurmflex/flex/plan/memo"
	"slurmflex/mig"
	"slurmflex/slurm"
)

// The uses of a machine.
const (
	used     = "used"     // its node has a job and is up
	reused   = "reused"   // likewise, and the machine was requested for another job
	kept     = "kept"     // its node is idle, no longer than keep_idle
	salvaged = "salvaged" // its node is held for a job that has lost others
	idle     = "idle"     // anything else that is paid for: boots, waits for a job, drains, shutdowns
)

// useOf is what a machine is used for now. Other: the jobs on it are not the one that it
// was requested for. Held: it is held for a job that has lost others.
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

// heldNodes are the nodes that are held for jobs that have lost others, until these run.
func heldNodes(cfg *config.Config, snap scene.Snapshot) map[string]bool {
	nodes := map[string]bool{}
	for _, r := range snap.Reservations {
		if _, held := memo.ParseSalvage(cfg.Cluster, r.Name); held {
			for _, name := range r.Nodes {
				nodes[name] = true
			}
		}
	}
	return nodes
}

// otherJobs are, by machine, a job that is on it although it was requested for another
// one, which is not on it. A machine of a shared group was requested for any task of the
// array: a started job does not show whether it was before the machine.
func otherJobs(cfg *config.Config, snap scene.Snapshot) map[string]uint32 {
	stamps := make(map[mig.GroupID]*mig.Stamp, len(snap.Groups))
	for i := range snap.Groups {
		stamps[snap.Groups[i].ID()] = &snap.Groups[i].Stamp
	}
	requestedFor := make(map[string]*mig.Stamp, len(snap.Instances))
	for i, in := range snap.Ours(cfg.Cluster) {
		requestedFor[in.Name] = &snap.Instances[i].Stamp
		if in.Group != "" {
			requestedFor[in.Name] = stamps[in.GroupID()]
		}
	}
	others, own := map[string]uint32{}, make(map[string]bool, len(snap.Instances))
	for _, j := range snap.Jobs {
		if !j.State.HoldsNodes() {
			continue
		}
		for _, name := range j.Nodes {
			switch stamp := requestedFor[name]; {
			case stamp == nil || stamp.Job == 0 && stamp.Array == 0: // a static node, or not ours
			case stamp.IsFor(j.ID, j.Array()):
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

package plan

import (
	"slurmflex/config"
)

// Plan is what a round is to do.
type Plan struct {
	Actions []Action

	// Expect says what will change soon without us: look again in seconds, not
	// in minutes. A request that waits for capacity is not in it.
	Expect []string

	// Problems says what an admin should know, one line each. What it speaks
	// of was left alone.
	Problems []string

	// Waits are the nodes that have no machine yet, the most important job's
	// first, and Blocks the nodesets whose instances do not come up.
	Waits  []Wait
	Blocks []Block

	// Losses are the nodes whose machine is gone while a job has them.
	Losses []Loss

	// Unseen is how many regions could not be read.
	Unseen int
}

// Compute decides what to do about a snapshot. It is pure and total, and the
// same snapshot in another order gives the same plan.
func Compute(cfg *config.Config, snap Snapshot) Plan {
	p := compute(cfg, snap)
	if len(snap.LastKnown) > 0 {
		p.Waits = recallWaits(snap, p.Waits, compute(cfg, snap.Recalled()).Waits)
	}
	return p
}

func compute(cfg *config.Config, snap Snapshot) Plan {
	w := look(cfg, snap)
	w.nameUnseen()
	w.nameUnread()
	w.nameSkew()
	w.plan.Unseen = len(snap.Unseen)
	boots := w.judgeBoots()
	cohorts := w.cohorts()
	w.all = cohorts
	w.noteComponents(cohorts)
	w.settleRequests()
	w.giveUpBoots(boots)
	w.giveUpLate(cohorts)
	w.releaseGangs(cohorts)
	w.releaseShort(cohorts)
	for _, c := range cohorts {
		w.judge(c)
	}
	for _, c := range cohorts {
		w.serve(c)
	}
	w.deleteInstances()
	wanted := wantedGroups(cohorts)
	w.deleteRequests(wanted)
	w.deleteGroups(wanted)
	w.deletePolicies(wanted)
	w.powerDownOrphans()
	w.recoverVanished()
	w.releaseEmpty()
	w.powerUpStatic()
	w.renewStatic()
	w.powerDownOnIdle()
	w.keepWaiting(cohorts)
	w.stopWaiting()
	w.forgetBoots()
	w.reserve()
	w.nameLosses()
	w.tellJobs(cohorts)
	w.checkInstances()
	w.nameDoubles()
	w.nameUnclear()
	w.nameWaits(cohorts)
	return w.plan
}

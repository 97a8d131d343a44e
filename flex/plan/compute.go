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
}

// Compute decides what to do about a snapshot. It is pure and total, and the
// same snapshot in another order gives the same plan.
func Compute(cfg *config.Config, snap Snapshot) Plan {
	w := look(cfg, snap)
	cohorts := w.cohorts()
	w.settleRequests(cohorts)
	for _, c := range cohorts {
		w.serve(c)
	}
	w.deleteInstances()
	w.deleteGroups(cohorts)
	w.powerDownOrphans()
	w.powerDownOnIdle()
	w.nameUnclear()
	return w.plan
}

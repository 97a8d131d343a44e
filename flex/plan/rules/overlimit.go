package rules

import "slurmflex/flex/plan/demand"

// overLimit: the request would pass a limit on GPU hours or money. A pending job gets no door then, so
// this holds back other jobs and nodes, and doors from before the limit was lowered.
func overLimit(w *demand.Wanted, c *demand.Claim) Ruling {
	if why := w.Budgets.Obstacle(w.Scene, c); why != "" {
		return Ruling{Do: Waits, Why: why}
	}
	return Ruling{}
}

// overspends makes the claim wait if more important requests of this pass leave too little of a limit.
func (t *turns) overspends(v *Verdict) bool {
	late := overLimit(t.Wanted, v.Claim)
	if late.Do == Waits {
		v.Do, v.Why, v.Quiet = Waits, late.Why, false
	}
	return late.Do == Waits
}

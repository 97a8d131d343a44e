// Package plan decides what a pass does. Compute is one pure function of the
// configuration and of what was seen: no I/O, no clock, no memory, and an
// answer for every combination of states. Who wants a node is what Slurm's
// queue says now; what we own is what carries our stamp.
package plan

import (
	"slurmflex/flex/plan/scene"
)

// Plan is what a pass is to do.
type Plan struct {
	Actions []Action

	// Expect says what will change soon without us: look again in seconds, not
	// in minutes. A request that waits for capacity is not in it.
	Expect []string

	// Problems says what an admin should know. What it speaks of was left alone.
	Problems scene.Problems

	// Waits are the nodes that have no machine yet, the most important job's
	// first, and Blocks the nodesets whose instances do not come up.
	Waits  []Wait
	Blocks []scene.Block

	// Held are the waits of pending jobs that no machines are requested for. They are of no nodes.
	// Since is when this process first saw the job lack only nodes, without a reason that may last;
	// zero: it has a reason.
	Held []Wait

	// Losses are the nodes whose machine is gone while a job has them.
	Losses []scene.Loss

	// Asked counts how long requests for each waiting cohort were live or refused. The next pass
	// reads it from its snapshot.
	Asked map[string]scene.Asked

	// Unseen is how many regions could not be read.
	Unseen int
}

// Compute decides what to do about a scene. It is pure and total, and the same scene in another order
// gives the same plan.
func Compute(s *scene.Scene) Plan {
	p := compute(s)
	if recalled := s.Recalled(); recalled != s {
		p.Waits = recallWaits(s.Seen, p.Waits, compute(recalled).Waits)
	}
	return p
}

func compute(s *scene.Scene) Plan {
	w := match(s)                             // who must arrive together, and the request that serves each
	verdicts := judge(w)                      // what becomes of each cohort: the first rule that decides
	verdicts = inTurn(w, perJob(w, verdicts)) // a job goes back as a whole; max_active_requests by rank
	verdicts = nameFailing(w, verdicts)       // a call that failed comes before the next one in every text
	verdicts = nameWaits(w, verdicts)         // what each cohort waits for, which all texts render

	d := newDraft(s) // what is planned; nothing else changes
	d.report(problemsOf(w))
	d.cancel(w.settled)
	d.carryOut(w, verdicts)
	for _, sweep := range sweeps {
		d.take(s, sweep.name, sweep.plan(w, verdicts))
	}
	d.notify(w, verdicts)
	d.report(problemsOfMachines(s, d.plan.Losses))
	d.plan.Waits, d.plan.Asked = waitsOf(w, verdicts), askedOf(w)
	return d.plan
}

// Package plan decides what a pass does. Compute is a pure function of the configuration and of
// what the pass saw: it does no I/O, reads no clock, keeps no state, and handles every combination
// of states. Slurm's queue alone determines which jobs need a node. Our stamp alone determines
// which resources are ours.
package plan

import (
	"time"

	"slurmflex/flex/plan/action"
	"slurmflex/flex/plan/demand"
	"slurmflex/flex/plan/report"
	"slurmflex/flex/plan/rules"
	"slurmflex/flex/plan/scene"
	"slurmflex/flex/plan/sweeps"
)

// Plan is what a pass will do, and what it found.
type Plan struct {
	Actions []action.Action

	// Needed are the nodes whose machines may be requested; see rules.Needed. A request that an
	// earlier plan contains is not sent if it is for any other node.
	Needed map[string]bool

	// Soon reports whether something will change soon without an action of ours, so that the next pass
	// runs in seconds, not in minutes. Requests that wait for capacity do not count.
	Soon bool

	// Problems lists what an admin should know. slurmflex leaves alone whatever a problem
	// describes.
	Problems scene.Problems

	// Waits are the nodes without a machine, those of the most important job first.
	Waits []demand.Wait

	// Held are the waits of pending jobs that slurmflex requests no machines for. They contain no
	// nodes. Since is when this process first saw the job lack only nodes without a reason that may
	// last. It is zero if there is such a reason.
	Held []demand.Wait

	// Limits are the limits on GPU hours and money, with what counts towards each; none if that could
	// not be read.
	Limits []demand.LimitUse

	// Losses are the nodes that jobs hold although their machine is lost.
	Losses []scene.Loss

	scene.Clocks // for the snapshot of the next pass

	// Unseen is the number of regions that could not be read.
	Unseen int
}

// Compute decides what to do about a scene. It is pure and total. Its plan does not depend on the
// order of the scene's contents.
func Compute(s *scene.Scene) Plan {
	p := compute(s)
	if s.Recalled != s {
		p.Waits = report.Recall(s.Seen, p.Waits, compute(s.Recalled).Waits)
	}
	return p
}

func compute(s *scene.Scene) Plan {
	w := demand.Match(s)          // nodes that must arrive together, and the request that serves each
	verdicts := rules.Judge(w)    // one verdict for each claim; per job; in turn
	report.NameWaits(w, verdicts) // what each claim waits for, which all texts render

	d := newDraft(s) // the actions; nothing after this point changes a verdict
	d.report(report.Problems(w))
	d.cancel(w.Settled)
	d.carryOut(w, verdicts)
	for _, step := range sweeps.All(w, verdicts) {
		d.take(step)
	}
	d.notify(w, verdicts)
	d.report(report.MachineProblems(s))
	d.plan.Limits = w.Budgets
	d.plan.Needed = rules.Needed(w, verdicts)
	d.plan.Waits, d.plan.Held = report.Waits(w, verdicts), w.Handed.Held
	d.plan.Clocks = scene.Clocks{Asked: rules.AskedOf(w), Unasked: withoutReason(w.Handed.Held), Crowded: w.Handed.Crowded}
	return d.plan
}

// withoutReason returns since when jobs of Plan.Held have waited without a reason, for the next
// pass.
func withoutReason(held []demand.Wait) map[uint32]time.Time {
	sinces := map[uint32]time.Time{}
	for _, w := range held {
		if !w.Since.IsZero() {
			sinces[w.Job] = w.Since
		}
	}
	return sinces
}

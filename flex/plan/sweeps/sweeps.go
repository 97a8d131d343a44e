// Package sweeps cleans up, keeps reservations, and partitions open or closed: each sweep looks at all
// nodes, machines, groups or reservations, whatever the verdicts.
package sweeps

import (
	"slurmflex/flex/plan/action"
	"slurmflex/flex/plan/demand"
	"slurmflex/flex/plan/memo"
	"slurmflex/flex/plan/rules"
	"slurmflex/flex/plan/scene"
	"slurmflex/slurm"
)

// Step is one sweep: what it looks at, and its output. A sweep cleans up one kind of resource. What it does
// follows from the scene and the verdicts alone.
type Step struct {
	*demand.Wanted
	verdicts []rules.Verdict

	Actions  []action.Action
	Soon     bool // as in Plan.Soon
	Problems scene.Problems
}

func (s *Step) do(actions ...action.Action) { s.Actions = append(s.Actions, actions...) }

// powerDown powers nodes down, in the way that state names. Slurm shows the reason with the nodes.
func powerDown(state, why string, nodes ...string) action.SetNodes {
	return action.SetNodes{Nodes: nodes, State: state, Reason: memo.ReasonPrefix + why, Why: action.Why(why)}
}

func (s *Step) changeReservation(name string, change slurm.ReservationChange, why action.Why) {
	s.do(action.SetReservation{OfReservation: action.OfReservation{Name: name}, ReservationChange: change, Why: why})
}

func (s *Step) deleteReservation(name string, why action.Why) {
	s.do(action.DeleteReservation{OfReservation: action.OfReservation{Name: name}, Why: why})
}

// notify writes an AdminComment before another action changes the job, unless the AdminComment is
// already there. queue is the other action's.
func (s *Step) notify(job uint32, text, queue string) {
	if s.Seen.Told[job] != text {
		s.do(action.CommentJob{OfJob: action.OfJob{Job: job}, Text: text, Before: queue, Why: "its owner should know first"})
	}
}

// All returns the steps of all sweeps. If several would change the same node, only the first one does.
func All(w *demand.Wanted, verdicts []rules.Verdict) (steps []*Step) {
	for _, sweep := range sweeps {
		s := &Step{Wanted: w, verdicts: verdicts}
		sweep(s)
		steps = append(steps, s)
	}
	return steps
}

// sweeps run in this order.
var sweeps = []func(*Step){
	powerDownLate,
	replaceUnhealthy,
	deleteInstances,
	deleteRequests,
	deleteGroups,
	deletePolicies,
	powerDownOrphans,
	takeDownLost,
	recoverVanished,
	reportDown,
	resumeEmpty,
	powerUpStatic,
	openToBackfill,
	renewStatic,
	powerDownKept,
	powerDownOnIdle,
	keepWaiting,
	stopWaiting,
	forgetBoots,
	keepCovers,
	keepDoors,
	makeDoors,
	reserve,
	deleteFormer,
	endInTime,
}

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

// sweep cleans up one kind of resource. What it does follows from the scene and the verdicts alone.
type sweep struct {
	Name string
	plan func(s *Step)
}

// Step returns what the sweep does.
func (sweep sweep) Step(w *demand.Wanted, verdicts []rules.Verdict) *Step {
	s := Step{Wanted: w, verdicts: verdicts}
	sweep.plan(&s)
	return &s
}

// Step is one sweep: what it looks at, and its output.
type Step struct {
	*demand.Wanted
	verdicts []rules.Verdict

	Actions  []action.Action
	Soon     bool // as in Plan.Soon
	Problems scene.Problems
}

func (s *Step) do(actions ...action.Action) { s.Actions = append(s.Actions, actions...) }

// powerDown powers nodes down, in the way that state names. Slurm shows the reason with the nodes.
func (s *Step) powerDown(state, why string, nodes ...string) {
	s.do(action.SetNodes{Nodes: nodes, State: state, Reason: memo.ReasonPrefix + why, Why: action.Why(why)})
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
	text = memo.OwnComment + text
	if s.Seen.Told[job] != text {
		s.do(action.CommentJob{OfJob: action.OfJob{Job: job}, Text: text, Before: queue, Why: "its owner should know first"})
	}
}

// All run in this order. If several sweeps would change the same node, only the first one does.
var All = []sweep{
	{"failed boots", powerDownLate},
	{"health", replaceUnhealthy},
	{"instances", deleteInstances},
	{"request records", deleteRequests},
	{"groups", deleteGroups},
	{"policies", deletePolicies},
	{"orphans", powerDownOrphans},
	{"lost", takeDownLost},
	{"vanished", recoverVanished},
	{"down", reportDown},
	{"resume", resumeEmpty},
	{"static", powerUpStatic},
	{"backfill", openToBackfill},
	{"renewal", renewStatic},
	{"keep_idle", powerDownKept},
	{"exclusive", powerDownOnIdle},
	{"waiting", keepWaiting},
	{"waiting no longer", stopWaiting},
	{"boot records", forgetBoots},
	{"covers", keepCovers},
	{"doors", keepDoors},
	{"wants", makeDoors},
	{"reservations", reserve},
	{"former reservations", deleteFormer},
	{"lease ends", endInTime},
}

// Package sweeps cleans up, keeps reservations, and partitions open or closed: each sweep looks at all
// nodes, machines, groups or reservations, whatever the verdicts.
package sweeps

import (
	"slurmflex/flex/plan/action"
	"slurmflex/flex/plan/demand"
	"slurmflex/flex/plan/memo"
	"slurmflex/flex/plan/rules"
	"slurmflex/flex/plan/scene"
)

// sweep cleans up one kind of resource. It is a pure function of the scene and the verdicts.
type sweep struct {
	Name string
	Plan func(w *demand.Wanted, verdicts []rules.Verdict) Step
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

// before returns the action that writes an AdminComment before another action changes the job. It
// returns none if the AdminComment is already there.
func before(s *scene.Scene, job uint32, text, queue string) []action.Action {
	text = memo.OwnComment + text
	if s.Seen.Told[job] == text {
		return nil
	}
	return []action.Action{action.CommentJob{OfJob: action.OfJob{Job: job}, Text: text, Before: queue, Why: "its owner should know first"}}
}

// Step is the output of one sweep.
type Step struct {
	Actions  []action.Action
	Expect   []string
	Problems []scene.Problem
}

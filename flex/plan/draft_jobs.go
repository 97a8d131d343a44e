package plan

import (
	"cmp"
	"maps"
	"slices"

	"slurmflex/flex/plan/action"
	"slurmflex/flex/plan/demand"
	"slurmflex/flex/plan/report"
	"slurmflex/flex/plan/rules"
)

// tellsAtOnce limits how many AdminComments a pass writes. Each takes a call to slurmctld, and a
// shared node may have hundreds of jobs.
const tellsAtOnce = 100

// notify writes to the AdminComment of jobs what their nodes wait for, and when the nodes end if
// that is before the job's time limit. It does not repeat the last text, and adds nothing when the
// job is being returned to Slurm.
func (d *draft) notify(w *demand.Wanted, verdicts []rules.Verdict) {
	d.tell(w.Seen.Told, report.AdminComments(w, verdicts))
	for _, r := range d.yielded {
		d.cancelRequest(r, true, "a more important request waits for its place")
	}
}

// tell plans to write these AdminComments, by job, except those that are unchanged. If there are
// too many, jobs with a yielding request come first, then jobs without an AdminComment of ours.
func (d *draft) tell(told, texts map[uint32]string) {
	ids := slices.DeleteFunc(slices.Sorted(maps.Keys(texts)), func(id uint32) bool {
		return texts[id] == "" || texts[id] == told[id] || d.heard[id]
	})
	slices.SortStableFunc(ids, func(a, b uint32) int {
		rank := func(id uint32) int {
			if _, yields := d.before[id]; yields {
				return -1
			}
			return min(len(told[id]), 1)
		}
		return cmp.Compare(rank(a), rank(b))
	})
	if len(ids) > tellsAtOnce {
		ids, d.plan.Soon = ids[:tellsAtOnce], true
	}
	for _, id := range ids {
		d.add(action.CommentJob{OfJob: action.OfJob{Job: id}, Text: texts[id], Before: d.before[id], Why: "its owner should know"})
	}
}

package plan_test

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"pgregory.net/rapid"

	"slurmflex/flex/plan"
	"slurmflex/flex/plan/memo"
	"slurmflex/slurm"
)

// drawChains has some jobs be submitted to several partitions, which take them or not.
func (w *world) drawChains(t *rapid.T) {
	for _, name := range []string{"train", "shared"} {
		p := slurm.Partition{Name: name, Nodes: w.nodeNames(), Up: !rarely(t, "down"), MaxTime: slurm.ParseLimit(pick(t, "MaxTime", "UNLIMITED", "UNLIMITED", "1:00:00"))}
		if rarely(t, "restricted") {
			p.Restricts = "AllowGroups"
		}
		w.Partitions = append(w.Partitions, p)
	}
	for _, j := range inOrder(w.jobs) {
		if rapid.Bool().Draw(t, "one partition") {
			continue
		}
		c := memo.Chain{List: []string{"train", "shared"}}
		if rarely(t, "leaving") {
			c.Leaving = memo.Move{From: "train", To: []string{"shared"}, Waited: time.Hour}
		}
		w.Chains[j.ID] = c
		if j.State == slurm.JobPending {
			j.Partition = pick(t, "list", "train,shared", "shared,train", "train", "shared")
			w.jobs[j.ID] = j
		}
	}
}

// movesWithinItsList: a job is moved only within the list that it was submitted to, to
// partitions that would take it, and one that Slurm would not requeue not at all.
func movesWithinItsList(s *sight, p plan.Plan) (wrong []string) {
	takes := func(j slurm.Job, name string) bool {
		return slices.ContainsFunc(s.snap.Partitions, func(p slurm.Partition) bool {
			return p.Name == name && p.Up && p.Restricts == "" && j.Limit.Kind == slurm.LimitSet &&
				(p.MaxTime.Kind == slurm.Unlimited || p.MaxTime.Duration >= j.Limit.Duration)
		})
	}
	for _, a := range p.Actions {
		var to []string
		switch a := a.(type) {
		case plan.ChangePartitions:
			to = a.To
		case plan.ReturnNodes:
			if a.Leaving == nil {
				continue
			}
			to = a.Leaving.Leaving.To
			if a.Then != plan.Requeue || !s.snap.Requeues[a.Job] || len(a.Others) > 0 {
				wrong = append(wrong, fmt.Sprintf("its job cannot move: %s", a))
			}
		}
		for _, j := range s.snap.Jobs {
			if j.ID != a.About().Job {
				continue
			}
			for _, name := range to {
				if !takes(j, name) || !slices.Contains(append(strings.Split(j.Partition, ","), s.snap.Chains[j.ID].List...), name) {
					wrong = append(wrong, fmt.Sprintf("%s: %+v", a, j))
				}
			}
		}
	}
	return wrong
}

package plan_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"slurmflex/flex/plan"
	"slurmflex/slurm"
)

// A1: of a job whose row could not be read, no machine is deleted and no node
// powered down, whatever could be read of it: all that it needs to keep its
// nodes. Where these are not known, the nodes' own states speak for it.
func TestAJobThatCannotBeReadKeepsItsNodes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawWorld(t)
		w.Partitions = []slurm.Partition{{Name: "train", Exclusive: true}, {Name: "shared"}}
		if len(w.jobs) == 0 {
			t.Skip("there is no job")
		}
		job := w.jobs[pick(t, "job that cannot be read", slices.Sorted(maps.Keys(w.jobs))...)]
		row := slurm.UnreadRow{Kind: slurm.JobRow, Why: "time"}
		if rapid.Bool().Draw(t, "its id can be read") {
			row.Name = fmt.Sprint(job.ID)
		}
		if rapid.Bool().Draw(t, "its nodes can be read") {
			row.Nodes, row.NodesKnown = job.Nodes, true
		} else if !w.showHeld(job) {
			t.Skip("no witness is left")
		}
		s := sightOf(w.cfg, w.snapshot())
		s.jobs = map[string][]slurm.Job{}
		for _, name := range job.Nodes {
			s.jobs[name] = []slurm.Job{job}
		}
		delete(w.jobs, job.ID)
		w.Unread = slurm.Unread{row}
		for _, wrong := range sparesWhatAJobRunsOn(s, plan.Compute(w.cfg, w.snapshot())) {
			t.Errorf("of %s: %s\nin\n%s", row, wrong, told(w))
		}
	})
}

// showHeld reports whether all of the job's nodes show that a job has them, and
// no other has them to itself.
func (w *world) showHeld(job slurm.Job) bool {
	return !slices.ContainsFunc(job.Nodes, func(name string) bool {
		n, shown := w.nodes[name]
		return !shown || !n.State.Held() || slices.ContainsFunc(inOrder(w.jobs), func(j slurm.Job) bool {
			return j.ID != job.ID && j.Partition == "train" && slices.Contains(j.Nodes, name)
		})
	})
}

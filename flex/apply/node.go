package apply

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"slurmflex/flex/plan/action"
	"slurmflex/slurm"
)

// setNodes changes nodes. Before a change that takes nodes from jobs, it reads the queue again and
// leaves out nodes that a job got after the pass read the queue.
func (h Hands) setNodes(ctx context.Context, a action.SetNodes) error {
	nodes, change := a.Nodes, slurm.NodeChange{State: a.State, Reason: a.Reason, Comment: a.Comment, Extra: a.Extra}
	var taken error
	if change.State == "power_down_force" || change.State == "down" {
		q, err := h.queue(ctx)
		if err != nil {
			return err
		}
		nodes, taken = q.untaken(a.Nodes, a.Jobs...)
	}
	if len(nodes) == 0 {
		return taken
	}
	if err := h.Slurm.UpdateNodes(ctx, nodes, change); err != nil {
		return err
	}
	return taken
}

// queue is Slurm's queue as read again just before a change that takes nodes from jobs. Slurm lacks
// a lock, so a job may still get a node before the next command reaches slurmctld.
type queue struct {
	jobs   []slurm.Job
	unread slurm.Unread
}

func (h Hands) queue(ctx context.Context) (q queue, err error) {
	q.jobs, err = h.Slurm.Jobs(ctx)
	if err := q.unread.Take(err); err != nil {
		return queue{}, fmt.Errorf("read jobs again: %w", err)
	}
	return q, nil
}

// has reports whether the job still has all of the nodes.
func (q queue) has(job uint32, nodes []string) bool {
	at := slices.IndexFunc(q.jobs, func(j slurm.Job) bool { return j.ID == job })
	return !slices.ContainsFunc(nodes, func(name string) bool {
		return at < 0 || !q.jobs[at].State.HoldsNodes() || !slices.Contains(q.jobs[at].Nodes, name)
	})
}

// untaken returns the nodes that no job has, not counting the given jobs and completing jobs. The
// error names the other nodes. It also leaves out the nodes of jobs that could not be read.
func (q queue) untaken(nodes []string, jobs ...uint32) ([]string, error) {
	var taken []string
	free := slices.DeleteFunc(slices.Clone(nodes), func(name string) bool {
		for _, j := range q.jobs {
			if j.State.HoldsNodes() && j.State != slurm.JobCompleting && slices.Contains(j.Nodes, name) && !slices.Contains(jobs, j.ID) {
				taken = append(taken, fmt.Sprintf("%s is job %s's", name, j.Name()))
				return true
			}
		}
		for _, row := range q.unread {
			if row.Kind == slurm.JobRow && slices.Contains(row.Nodes, name) && !slices.Contains(jobs, row.Job()) {
				taken = append(taken, fmt.Sprintf("%s may be job %s's, which cannot be read", name, row.Name))
				return true
			}
		}
		return false
	})
	if len(taken) > 0 {
		return free, racef("left alone: %s", strings.Join(taken, ", "))
	}
	return free, nil
}

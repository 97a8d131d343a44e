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
		nodes, taken = h.untaken(ctx, a.Nodes, a.Jobs...)
	}
	if len(nodes) == 0 {
		return taken
	}
	if err := h.Slurm.UpdateNodes(ctx, nodes, change); err != nil {
		return err
	}
	return taken
}

// untaken reads Slurm's queue and returns the nodes that no job has, not counting the given jobs
// and completing jobs. The error names the other nodes. It also leaves out the nodes of jobs that
// it cannot read. Slurm lacks a lock, so a job may still get a node before the caller's next
// command reaches slurmctld.
func (h Hands) untaken(ctx context.Context, nodes []string, jobs ...uint32) ([]string, error) {
	queue, err := h.Slurm.Jobs(ctx)
	var unread slurm.Unread
	if err := unread.Take(err); err != nil {
		return nil, fmt.Errorf("read jobs again: %w", err)
	}
	var taken []string
	free := slices.DeleteFunc(slices.Clone(nodes), func(name string) bool {
		for _, j := range queue {
			if j.State.HoldsNodes() && j.State != slurm.JobCompleting && slices.Contains(j.Nodes, name) && !slices.Contains(jobs, j.ID) {
				taken = append(taken, fmt.Sprintf("%s is job %s's", name, j.Name()))
				return true
			}
		}
		for _, row := range unread {
			if row.Kind == slurm.JobRow && slices.Contains(row.Nodes, name) && !slices.Contains(jobs, row.Job()) {
				taken = append(taken, fmt.Sprintf("%s may be job %s's, which cannot be read", name, row.Name))
				return true
			}
		}
		return false
	})
	if len(taken) > 0 {
		return free, fmt.Errorf("left alone: %s", strings.Join(taken, ", "))
	}
	return free, nil
}

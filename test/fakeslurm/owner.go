package fakeslurm

import (
	"context"
	"errors"
	"fmt"

	"slurmflex/slurm"
	"slurmflex/slurm/scontrol"
)

// The methods below are slurm/scontrol's, which change the one job with a raw
// id, or none: it is an error to name the tasks of an array that slurmctld has
// not told apart yet.

// SetAdminComment sets the comment that scontrol show job shows.
func (c *Cluster) SetAdminComment(ctx context.Context, id uint32, text string) error {
	return c.toJob(ctx, id, "set the admin comment", func(j *job) error {
		if j.over() {
			return ended("scontrol update", j)
		}
		j.adminComment = plain(text)
		return nil
	})
}

// HoldJob keeps a job from being started. One that has its nodes goes on, and is
// held once it is requeued.
func (c *Cluster) HoldJob(ctx context.Context, id uint32) error {
	return c.toJob(ctx, id, "hold", func(j *job) error {
		if j.over() {
			return ended("scontrol hold", j)
		}
		for _, part := range j.parts() {
			part.priority, part.reason = 0, reasonHeld
		}
		c.stirred = true
		return nil
	})
}

// CancelJob cancels a job. One that is over, or gone, is as good as cancelled.
func (c *Cluster) CancelJob(ctx context.Context, id uint32) error {
	err := c.toJob(ctx, id, "cancel", func(j *job) error {
		c.cancel(j)
		return nil
	})
	if errors.Is(err, scontrol.ErrUnknownJob) {
		return nil
	}
	return err
}

// NotifyJob prints text on the terminal of an interactive job's owner. For a
// batch job nobody sees it, and before it has nodes it is refused.
func (c *Cluster) NotifyJob(ctx context.Context, id uint32, text string) error {
	return c.toJob(ctx, id, "notify", func(j *job) error {
		switch {
		case j.over():
			return refuse("scontrol notify", "Job/step already completing or completed", scontrol.ErrJobEnded)
		case j.spec.Interactive:
			j.notices = append(j.notices, plain(text))
		case j.state == slurm.JobPending:
			return refuse("scontrol notify", "Requested operation is presently disabled", nil)
		}
		return nil
	})
}

// toJob does something to the one job with a raw id.
func (c *Cluster) toJob(ctx context.Context, id uint32, what string, do func(*job) error) error {
	if err := c.ask(ctx); err != nil {
		return err
	}
	defer c.mu.Unlock()
	j := c.find(id)
	switch {
	case j == nil:
		return fmt.Errorf("%s: job %d: %w", what, id, scontrol.ErrUnknownJob)
	case j.together():
		return fmt.Errorf("%s: squeue: job %d stands for array tasks without records of their own", what, id)
	}
	return do(j)
}

func ended(call string, j *job) error {
	return refuse(call, fmt.Sprintf("Job has already finished for job %d", j.id), scontrol.ErrJobEnded)
}

// SignalJob sends a signal to a running batch job's script, which catches it.
func (c *Cluster) SignalJob(ctx context.Context, id uint32, _ string) error {
	return c.toJob(ctx, id, "signal", func(j *job) error {
		switch {
		case j.over():
			return refuse("scancel", fmt.Sprintf("Kill job error on job id %d: Job/step already completing or completed", j.id), scontrol.ErrJobEnded)
		case j.state != slurm.JobRunning:
			return refuse("scancel", fmt.Sprintf("Kill job error on job id %d: Job can not be altered now, try again later", j.id), nil)
		}
		return nil
	})
}

// RequeueJob takes a job back that has nodes, and leaves others alone.
func (c *Cluster) RequeueJob(ctx context.Context, id uint32) error {
	return c.toJob(ctx, id, "requeue", func(j *job) error {
		_, err := c.takeBack(j)
		return err
	})
}

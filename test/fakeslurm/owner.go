package fakeslurm

import (
	"context"
	"errors"
	"fmt"

	"slurmflex/slurm"
	"slurmflex/slurm/scontrol"
)

// The methods below match slurm/scontrol's. They change at most one job, named by its raw ID.
// They return an error for array tasks that are not yet separate jobs.

// SetAdminComment sets the AdminComment that scontrol show job shows.
func (c *Cluster) SetAdminComment(ctx context.Context, id uint32, text string) error {
	return c.toJob(ctx, id, "set the admin comment", func(j *job) error {
		if !j.over() {
			j.adminComment = plain(text)
		}
		return nil
	})
}

// HoldJob prevents a job from starting. A job with nodes continues, and is held after a
// requeue.
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

// CancelJob cancels a job. It succeeds if the job has ended or does not exist.
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

// NotifyJob fails for a job that has ended, and for a batch job without nodes. It does not store the
// text, which Slurm prints on the terminal of an interactive job's owner.
func (c *Cluster) NotifyJob(ctx context.Context, id uint32, _ string) error {
	return c.toJob(ctx, id, "notify", func(j *job) error {
		switch {
		case j.over():
			return refuse("scontrol notify", "Job/step already completing or completed", scontrol.ErrJobEnded)
		case j.state == slurm.JobPending && !j.spec.Interactive:
			return refuse("scontrol notify", "Requested operation is presently disabled", nil)
		}
		return nil
	})
}

// toJob applies do to the job with this raw ID.
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

// SignalJob sends a signal to a running batch job's script, which handles it.
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

// RequeueJob requeues a job that has nodes. It does not change other jobs.
func (c *Cluster) RequeueJob(ctx context.Context, id uint32) error {
	return c.toJob(ctx, id, "requeue", func(j *job) error {
		_, err := c.takeBack(j)
		return err
	})
}

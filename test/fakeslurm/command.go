package fakeslurm

import (
	"context"
	"fmt"
	"slices"
	"time"

	"slurmflex/slurm"
	"slurmflex/slurm/scontrol"
)

// The methods below are what a job's owner or an admin does. An array's id
// stands for all its tasks.

// Cancel is scancel.
func (c *Cluster) Cancel(id uint32) error {
	return c.toJobs(id, "scancel", func(j *job) error {
		c.cancel(j)
		return nil
	})
}

func (c *Cluster) cancel(j *job) {
	if !j.over() {
		c.end(j, slurm.JobCancelled, c.o.Now())
	}
}

// Requeue is scontrol requeue Incomplete: a job that waits or has ended is left
// alone. Nodes that are powering up go on doing so.
func (c *Cluster) Requeue(id uint32) error {
	return c.toJobs(id, "scontrol requeue", func(j *job) error {
		_, err := c.takeBack(j)
		return err
	})
}

// RequeueHold is scontrol requeuehold Incomplete.
func (c *Cluster) RequeueHold(id uint32) error {
	return c.toJobs(id, "scontrol requeuehold", func(j *job) error {
		had, configuring := j.nodes, j.state == slurm.JobConfiguring
		taken, err := c.takeBack(j)
		if !taken {
			return err
		}
		for _, part := range j.parts() {
			part.priority, part.reason = 0, reasonRequeued
		}
		if c.habits.requeuesAtOnce && configuring {
			j.nodes = had
		}
		return nil
	})
}

// takeBack requeues a job that has nodes, and reports whether it had.
func (c *Cluster) takeBack(j *job) (taken bool, err error) {
	call := fmt.Sprintf("scontrol requeue Incomplete %d", j.id)
	switch {
	case j.spec.Interactive:
		return false, refuse(call, fmt.Sprintf("Only batch jobs are accepted or processed for job %d", j.id), nil)
	case j.spec.NoRequeue:
		return false, refuse(call, fmt.Sprintf("Requested operation is presently disabled for job %d", j.id), nil)
	case !j.active():
		return false, nil
	}
	delay := requeueDelay
	if c.habits.requeuesAtOnce && j.state == slurm.JobConfiguring {
		delay = 0
	}
	c.requeue(j, delay, c.o.Now())
	return true, nil
}

// Release is scontrol release: it ends a hold. The job has the priority of one
// that has just come.
func (c *Cluster) Release(id uint32) error {
	return c.toJobs(id, "scontrol release", func(j *job) error {
		if j.over() {
			return ended("scontrol release", j)
		}
		for _, part := range j.parts() {
			if part.held() {
				part.priority, part.reason = c.usualPriority(), reasonNone
			}
		}
		return nil
	})
}

// Start is scontrol update jobid=… starttime=now: a job that waits for its
// begin time waits no longer.
func (c *Cluster) Start(id uint32) error {
	return c.toJobs(id, "scontrol update", func(j *job) error {
		if !c.startNow(j) {
			return refuse("scontrol update", fmt.Sprintf("Job is no longer pending execution for job %d", j.id), nil)
		}
		return nil
	})
}

func (c *Cluster) startNow(j *job) bool {
	if j.state != slurm.JobPending {
		return false
	}
	j.begin, c.stirred = time.Time{}, true
	return true
}

// SetLimit is scontrol update jobid=… timelimit=….
func (c *Cluster) SetLimit(id uint32, limit time.Duration) error {
	return c.toJobs(id, "scontrol update", func(j *job) error {
		if j.over() {
			return ended("scontrol update", j)
		}
		j.limit = j.partition.limit(limit)
		return nil
	})
}

// SetPriority is scontrol update jobid=… priority=…. 0 holds the job.
func (c *Cluster) SetPriority(id uint32, priority uint64) error {
	return c.toJobs(id, "scontrol update", func(j *job) error {
		if j.over() {
			return ended("scontrol update", j)
		}
		for _, part := range j.parts() {
			part.priority, part.reason = priority, reasonNone
			if priority == 0 {
				part.reason = reasonHeld
			}
		}
		return nil
	})
}

// Shrink is scontrol update jobid=… numnodes=… on a running job, which keeps its
// first nodes.
func (c *Cluster) Shrink(id uint32, nodes int) error {
	return c.toJobs(id, "scontrol update", func(j *job) error {
		switch {
		case j.over():
			return ended("scontrol update", j)
		case j.state != slurm.JobRunning || nodes < 1 || nodes > len(j.nodes):
			return refuse("scontrol update", fmt.Sprintf("Node count specification invalid for job %d", j.id), nil)
		}
		kept, given := j.nodes[:nodes], j.nodes[nodes:]
		for _, n := range given {
			n.jobs = slices.DeleteFunc(n.jobs, func(other *job) bool { return other == j })
			n.busy = c.o.Now()
		}
		j.nodes, j.count = kept, nodes
		j.named = slices.DeleteFunc(slices.Clone(j.named), func(n *node) bool { return slices.Contains(given, n) })
		return nil
	})
}

// toJobs does something to a job, or to all tasks of an array that have not
// ended; the first error is told.
func (c *Cluster) toJobs(id uint32, what string, do func(*job) error) error {
	if err := c.ask(context.Background()); err != nil {
		return fmt.Errorf("%s %d: %w", what, id, err)
	}
	defer c.mu.Unlock()
	c.stirred = true
	var tasks []*job
	for _, j := range c.queue {
		if j.arrayID == id && id != 0 {
			tasks = append(tasks, j)
		}
	}
	if j := c.find(id); len(tasks) == 0 && j != nil {
		tasks = append(tasks, j)
	}
	if len(tasks) == 0 {
		return refuse(fmt.Sprintf("%s %d", what, id), "Invalid job id specified", scontrol.ErrUnknownJob)
	}
	var first error
	for _, j := range tasks {
		if err := do(j); err != nil && first == nil {
			first = err
		}
	}
	return first
}

package fakeslurm

import (
	"context"
	"fmt"
	"slices"
	"time"

	"slurmflex/slurm"
	"slurmflex/slurm/scontrol"
)

// The methods below are the commands of a job's owner or an admin. An array's ID stands for
// all its tasks.

// Cancel acts like scancel.
func (c *Cluster) Cancel(id uint32) error {
	return c.toJobs(id, "scancel", func(j *job) error {
		c.cancel(j)
		return nil
	})
}

func (c *Cluster) cancel(j *job) {
	if !j.over() {
		c.end(j, slurm.JobCancelled, time.Now())
	}
}

// Requeue acts like scontrol requeue Incomplete: it does not change a job that waits or has
// ended. Nodes that are powering up continue to do so.
func (c *Cluster) Requeue(id uint32) error {
	return c.toJobs(id, "scontrol requeue", func(j *job) error {
		_, err := c.takeBack(j)
		return err
	})
}

// RequeueHold acts like scontrol requeuehold Incomplete.
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

// takeBack requeues a job that has nodes. taken reports whether it had nodes.
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
	c.requeue(j, delay, time.Now())
	return true, nil
}

// Release acts like scontrol release: it ends a hold. The job gets the priority of a new job.
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

// HoldTask acts like scontrol hold on an array task. A pending task gets a record of its own. HoldTask
// returns the task's job ID.
func (c *Cluster) HoldTask(array uint32, task int) (id uint32, err error) {
	what := fmt.Sprintf("scontrol hold %d_%d", array, task)
	if err := c.ask(context.Background()); err != nil {
		return 0, fmt.Errorf("%s: %w", what, err)
	}
	defer c.mu.Unlock()
	j := c.task(array, fmt.Sprint(task))
	switch {
	case j == nil:
		return 0, refuse(what, "Invalid job id specified", scontrol.ErrUnknownJob)
	case j.over():
		return 0, ended(what, j)
	}
	j.priority, j.reason = 0, reasonHeld
	c.stirred = true
	return j.id, nil
}

// Start acts like scontrol update jobid=… starttime=now: it ends a job's wait for its begin
// time.
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

// SetLimit acts like scontrol update jobid=… timelimit=….
func (c *Cluster) SetLimit(id uint32, limit time.Duration) error {
	return c.toJobs(id, "scontrol update", func(j *job) error {
		if j.over() {
			return ended("scontrol update", j)
		}
		j.limit = j.partition.limit(limit)
		return nil
	})
}

// SetPriority acts like scontrol update jobid=… priority=…. Priority 0 holds the job.
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

// Alter acts like scontrol update jobid=… on the options of a pending job: change changes its number of
// nodes, nodes to exclude, features or GRES. It also refuses a job that could never start then, which
// slurmctld does not always do.
func (c *Cluster) Alter(id uint32, change func(*JobSpec)) error {
	return c.toJobs(id, "scontrol update", func(j *job) error {
		if j.state != slurm.JobPending {
			return refuse("scontrol update", "Job is no longer pending execution", nil)
		}
		before, lastID, lastPriority := *j, c.lastID, c.lastPriority
		change(&j.spec)
		err := c.place(j)
		if err == nil && j.isHopeless() {
			err = c.unavailable()
		}
		if err != nil {
			*j, c.lastID, c.lastPriority = before, lastID, lastPriority
		}
		return err
	})
}

// Shrink acts like scontrol update jobid=… numnodes=… on a running job. The job keeps its
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
			n.busy = time.Now()
		}
		j.nodes, j.count = kept, nodes
		j.named = slices.DeleteFunc(slices.Clone(j.named), func(n *node) bool { return slices.Contains(given, n) })
		return nil
	})
}

// toJobs applies do to a job, or to all unfinished tasks of an array. It returns the first
// error.
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

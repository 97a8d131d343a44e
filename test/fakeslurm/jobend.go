package fakeslurm

import (
	"slices"
	"time"

	"slurmflex/slurm"
)

// begin allocates nodes to a job. If all nodes are up, the job runs at once. Otherwise it is
// configuring until they are up, and its time limit starts then.
func (c *Cluster) begin(j *job, nodes []*node, now time.Time) {
	j.nodes, j.start, j.reason, j.state = nodes, now, reasonNone, slurm.JobRunning
	if j.limit.Kind == slurm.Unlimited {
		j.limit = slurm.Limit{Kind: slurm.LimitSet, Duration: year}
	}
	for _, n := range nodes {
		n.jobs = append(n.jobs, j)
		n.reason = ""
		if j.partition.PowerDownOnIdle && c.habits.partitionPower {
			n.set(slurm.PowerDown)
		}
		if !n.ready() {
			j.state = slurm.JobConfiguring
		}
	}
}

// startConfigured starts configuring jobs as soon as all their nodes are up.
func (c *Cluster) startConfigured(now time.Time) {
	for _, j := range c.queue {
		waiting := func(n *node) bool { return !n.ready() }
		if j.state == slurm.JobConfiguring && !slices.ContainsFunc(j.nodes, waiting) {
			j.state, j.start = slurm.JobRunning, now
			c.stirred = true
		}
	}
	c.missScripts(now)
}

// stopLate stops jobs that have reached their time limit.
func (c *Cluster) stopLate(now time.Time) {
	for _, j := range slices.Clone(c.queue) {
		if j.state == slurm.JobRunning && j.limit.Kind == slurm.LimitSet && now.Sub(j.start) >= j.limit.Duration {
			c.end(j, slurm.JobTimeout, now)
		}
	}
}

// endJobs completes jobs that have run for their Run time. It skips jobs with a silent node,
// because no slurmd could report their end.
func (c *Cluster) endJobs(now time.Time) {
	silent := func(n *node) bool { return !n.slurmd.up }
	atWork := func(j *job) bool {
		return j.state == slurm.JobRunning && now.Sub(j.start) >= j.spec.Run && !slices.ContainsFunc(j.nodes, silent)
	}
	for _, j := range slices.Clone(c.queue) {
		if all(j.parts(), atWork) {
			c.end(j, slurm.JobCompleted, now)
		}
	}
}

// end ends a job in the given state.
func (c *Cluster) end(j *job, state slurm.JobState, now time.Time) {
	for _, part := range j.parts() {
		c.leave(part, now)
		part.state, part.ended = state, now
		c.retire(part)
	}
}

// retire removes an ended job from the queue after all its nodes have confirmed the end.
func (c *Cluster) retire(j *job) {
	if j.over() && j.unconfirmed == 0 {
		c.queue = slices.DeleteFunc(c.queue, func(q *job) bool { return q == j })
	}
}

// leave removes a job from its nodes. A silent slurmd cannot confirm the end of a running job.
func (c *Cluster) leave(j *job, now time.Time) {
	if !j.active() {
		return
	}
	for _, n := range j.nodes {
		n.jobs = slices.DeleteFunc(n.jobs, func(other *job) bool { return other == j })
		n.busy = now
		if j.state == slurm.JobRunning && n.up() && !n.slurmd.up && !n.down {
			n.completing = append(n.completing, j)
			j.unconfirmed++
		}
	}
	c.stirred = true
}

// requeue returns a job to PENDING. The job may start again after the delay.
func (c *Cluster) requeue(j *job, delay time.Duration, now time.Time) {
	for _, part := range j.parts() {
		c.leave(part, now)
		part.state, part.nodes, part.start, part.reason = slurm.JobPending, nil, time.Time{}, reasonNone
		part.begin = now.Add(delay)
		if part.held() {
			part.reason = reasonHeld
		}
	}
}

// loseNode removes a job from its nodes after one of them was lost. The job is requeued, or
// fails if it must not be requeued.
func (c *Cluster) loseNode(j *job, now time.Time) {
	if !j.spec.NoRequeue && !j.spec.Interactive {
		c.requeue(j, requeueDelay, now)
		return
	}
	j.reason = reasonNodeDown
	c.end(j, slurm.JobNodeFail, now)
}

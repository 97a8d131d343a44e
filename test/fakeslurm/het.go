package fakeslurm

import (
	"fmt"
	"slices"
	"time"

	"slurmflex/slurm"
)

// scriptWait is how long slurmctld waits for a heterogeneous job's script to start after the
// nodes of the first component are up. Source: a trial on 22.05.
const scriptWait = time.Minute

// SubmitHet queues a heterogeneous job with these components, each in a different partition.
// It returns the ID of the first component; the other components have the following IDs.
func (c *Cluster) SubmitHet(specs ...JobSpec) (id uint32, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.down != nil {
		return 0, fmt.Errorf("sbatch: %w", c.down)
	}
	var parts []*job
	for _, spec := range specs {
		j, err := c.placed(spec)
		if err != nil {
			return 0, err
		}
		parts = append(parts, j)
	}
	for _, j := range parts {
		j.het = parts
		c.queueUp(j)
	}
	return parts[0].id, nil
}

// parts returns the job's components, or just the job. Every action on one component applies
// to all.
func (j *job) parts() []*job {
	if j.het == nil {
		return []*job{j}
	}
	return j.het
}

// hetID returns the ID of the first component, or 0 if the job is not heterogeneous.
func (j *job) hetID() uint32 {
	if j.het == nil {
		return 0
	}
	return j.het[0].id
}

// together starts a heterogeneous job if all its components have nodes. Only backfill starts
// such jobs.
func (p *pass) together(j *job) {
	if !p.backfills || j != j.het[0] || slices.ContainsFunc(j.het, func(part *job) bool { return part.unconfirmed > 0 }) {
		return
	}
	chosen := make([][]*node, len(j.het))
	for i, part := range j.het {
		if !p.mayStart(part, part.partition) {
			for _, other := range j.het {
				other.reason = part.reason
			}
			return
		}
		if chosen[i] = p.choose(part, slices.Concat(chosen[:i]...)...); chosen[i] == nil {
			for _, other := range j.het {
				p.weigh(other)
				other.reason = reasonResources
			}
			return
		}
	}
	for i, part := range j.het {
		p.c.begin(part, chosen[i], p.now)
		p.take(chosen[i])
	}
}

// missScripts requeues heterogeneous jobs if their script is late. The script runs on the first
// component's nodes after the nodes of all components are up. Jobs of srun do not have one.
func (c *Cluster) missScripts(now time.Time) {
	waits := func(j *job) bool { return j.state == slurm.JobConfiguring }
	for _, j := range slices.Clone(c.queue) {
		if j.hetID() == j.id && !j.spec.Interactive && j.state == slurm.JobRunning && now.Sub(j.start) >= scriptWait && slices.ContainsFunc(j.het, waits) {
			c.loseNode(j, now)
		}
	}
}

func all(jobs []*job, holds func(*job) bool) bool {
	return !slices.ContainsFunc(jobs, func(j *job) bool { return !holds(j) })
}

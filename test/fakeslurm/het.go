package fakeslurm

import (
	"fmt"
	"slices"
	"time"

	"slurmflex/slurm"
)

// scriptWait is how long slurmctld waits for the script of a heterogeneous job to
// begin once the nodes of its first component are up. Source: a trial on 22.05.
const scriptWait = time.Minute

// SubmitHet queues a heterogeneous job of these components, which are of different
// partitions, and gives the id of the first; the others have those after it.
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

// parts are the components of the job, or the job alone. What is done to one is
// done to all.
func (j *job) parts() []*job {
	if j.het == nil {
		return []*job{j}
	}
	return j.het
}

// hetID is the id of the first component; 0 if the job is none.
func (j *job) hetID() uint32 {
	if j.het == nil {
		return 0
	}
	return j.het[0].id
}

// together starts a heterogeneous job if all its components have nodes. Only backfill starts such jobs.
func (p *pass) together(j *job) {
	if !p.backfills || j != j.het[0] || slices.ContainsFunc(j.het, func(part *job) bool { return part.unconfirmed > 0 }) {
		return
	}
	chosen := make([][]*node, len(j.het))
	for i, part := range j.het {
		part.start = time.Time{}
		if !p.mayStart(part, part.partition) {
			for _, other := range j.het {
				other.reason = part.reason
			}
			return
		}
		if chosen[i] = p.choose(part, slices.Concat(chosen[:i]...)...); chosen[i] == nil {
			for _, other := range j.het {
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

// missScripts requeues the heterogeneous jobs whose script has not begun: it runs
// on the first component's nodes, once those of all are up. Those of srun have none.
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

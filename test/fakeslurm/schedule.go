package fakeslurm

import (
	"cmp"
	"slices"
	"time"

	"slurmflex/slurm"
)

// maxJudged is of how many jobs it is found out why they have to wait, and until
// when. Those behind them are only started where they are in nobody's way
// (bf_max_job_test, which is 100 and more).
const maxJudged = 5

// pass is one look at the queue.
type pass struct {
	c       *Cluster
	now     time.Time
	free    map[*partition][]*node // that can take a job now, the best first
	judged  int                    // jobs of which it is known why they wait
	blocked map[*partition]bool    // where a job waits for nodes
}

// schedule starts the jobs that can be started, by priority and then by age. A
// job that waits for nodes is passed by others only if that does not make it
// wait longer.
func (c *Cluster) schedule(now time.Time) {
	if !c.stirred && (c.nextBegin.IsZero() || now.Before(c.nextBegin)) {
		return
	}
	c.stirred, c.nextBegin = false, time.Time{}
	for _, n := range c.nodes {
		n.plan = span{}
	}
	p := &pass{c: c, now: now, free: map[*partition][]*node{}, blocked: map[*partition]bool{}}
	for _, j := range c.pending() {
		p.consider(j)
	}
}

// pending are the jobs that wait, those with the highest priority first.
func (c *Cluster) pending() []*job {
	var jobs []*job
	for _, j := range c.queue {
		if j.state == slurm.JobPending {
			jobs = append(jobs, j)
		}
	}
	slices.SortStableFunc(jobs, func(a, b *job) int { return cmp.Compare(b.priority, a.priority) })
	return jobs
}

// consider starts a job, once for each of its tasks, or notes why it waits.
func (p *pass) consider(j *job) {
	switch {
	case j.unconfirmed > 0 || j.held():
		return
	case j.begin.After(p.now):
		j.reason = reasonBegin
		p.c.nextBegin = earlier(p.c.nextBegin, j.begin)
		return
	case j.tooLate(p.now):
		p.c.end(j, slurm.JobDeadline, p.now)
		return
	case j.het != nil:
		p.together(j)
		return
	}
	j.start = time.Time{}
	for {
		nodes := p.chooseAmong(j)
		if nodes == nil {
			p.wait(j)
			return
		}
		task := p.c.split(j)
		p.c.begin(task, nodes, p.now)
		p.take(nodes)
		if task == j {
			return
		}
	}
}

// chooseAmong chooses nodes in the first partition of the job's list that has them.
func (p *pass) chooseAmong(j *job) []*node {
	for _, in := range j.partitions {
		if j.partition = in; len(j.partitions) > 1 && !in.takes(j.limit) {
			continue
		}
		if nodes := p.choose(j); nodes != nil {
			return nodes
		}
	}
	j.partition = j.partitions[0]
	return nil
}

// choose finds nodes on which a job can start now; nil if there are none.
func (p *pass) choose(j *job) []*node {
	chosen := make([]*node, 0, j.count)
	for _, n := range j.named {
		if !p.fits(j, n) {
			return nil
		}
		chosen = append(chosen, n)
	}
	candidates := p.candidates(j.partition)
	if j.reservation != nil {
		candidates = slices.Concat(j.reservation.nodes, candidates)
	}
	for _, n := range candidates {
		if len(chosen) == j.count {
			break
		}
		if !slices.Contains(chosen, n) && p.fits(j, n) {
			chosen = append(chosen, n)
		}
	}
	if len(chosen) < j.count {
		return nil
	}
	slices.SortFunc(chosen, byOrder)
	return chosen
}

// fits reports whether a job can start on the node now, and not in the way of
// a job that waits for it.
func (p *pass) fits(j *job, n *node) bool {
	end := j.until(p.now)
	if n.onlyFor != nil && n.onlyFor != j.reservation {
		return false
	}
	if n.planned() && end.After(n.plan.start) {
		return false
	}
	return n.usable() && n.vacant(j.partition) && !n.reservedBefore(end)
}

// candidates are the nodes of a partition that may take a job now: those that
// are not powered down first, as Slurm's weights have it.
func (p *pass) candidates(in *partition) []*node {
	free, known := p.free[in]
	if !known {
		for _, n := range in.nodes {
			if n.usable() && n.vacant(in) {
				free = append(free, n)
			}
		}
		slices.SortFunc(free, func(a, b *node) int {
			return cmp.Or(cmp.Compare(b2i(a.has(slurm.PoweredDown)), b2i(b.has(slurm.PoweredDown))), byOrder(a, b))
		})
		p.free[in] = free
	}
	return free
}

// take notes that nodes have got another job.
func (p *pass) take(nodes []*node) {
	taken := map[*node]bool{}
	for _, n := range nodes {
		taken[n] = true
	}
	for in, free := range p.free {
		p.free[in] = slices.DeleteFunc(free, func(n *node) bool { return taken[n] && !n.vacant(in) })
	}
}

// usable reports whether the node takes jobs at all. One that is powering up
// does, also if it is marked to be powered down.
func (n *node) usable() bool {
	switch {
	case n.down || n.hasAny(slurm.Drain|slurm.PoweringDown) || len(n.completing) > 0:
		return false
	case n.has(slurm.PowerDown) && !n.has(slurm.PoweringUp) && len(n.jobs) == 0:
		return false // it is about to go
	}
	return !n.has(slurm.NotResponding) || n.hasAny(slurm.PoweredDown|slurm.PoweringUp)
}

// vacant reports whether there is room for another job of a partition.
func (n *node) vacant(in *partition) bool {
	return len(n.jobs) == 0 || !in.Exclusive && !n.full()
}

func byOrder(a, b *node) int { return cmp.Compare(a.order, b.order) }

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

// earlier is the earlier of two times of which zero is none.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || b.Before(a) {
		return b
	}
	return a
}

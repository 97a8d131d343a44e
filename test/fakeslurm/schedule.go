package fakeslurm

import (
	"cmp"
	"slices"
	"time"

	"slurmflex/slurm"
)

// maxJudged is the maximum number of jobs with planned nodes in a pass of backfill. Later jobs only
// start on unplanned nodes (bf_max_job_test; Slurm's is 100 or more).
const maxJudged = 50

// pass is one run through the queue, by the main scheduler, by backfill, or by both.
type pass struct {
	c         *Cluster
	now       time.Time
	main      bool                   // the main scheduler runs
	backfills bool                   // backfill runs
	free      map[*partition][]*node // nodes that can take a job now, the best first
	judged    int                    // jobs with planned nodes
	blocked   map[*partition]bool    // partitions with a job that waits for busy nodes
	guarded   map[*node]bool         // nodes that the main scheduler keeps for a waiting job
	known     map[shape]string       // reasons of jobs without planned nodes
}

// record is a job in one of its partitions.
type record struct {
	*job
	in *partition
}

// schedule starts jobs by priority and age. The main scheduler runs after each
// change. When a job waits for busy nodes, the main scheduler starts no later job in that
// partition. Backfill starts later jobs that do not delay earlier ones.
func (c *Cluster) schedule(now time.Time) {
	if c.stirred || !c.nextBegin.IsZero() && !now.Before(c.nextBegin) {
		c.stirred, c.nextBegin = false, time.Time{}
		c.look(now, true, c.o.Backfill == 0)
	}
	if c.o.Backfill > 0 && !now.Before(c.backfill) {
		c.backfill = now.Add(c.o.Backfill)
		c.look(now, false, true)
	}
}

// look runs one pass.
func (c *Cluster) look(now time.Time, main, backfills bool) {
	if backfills {
		for _, n := range c.nodes {
			n.plan = span{}
		}
		for _, j := range c.queue {
			if j.state == slurm.JobPending {
				j.start, j.planned = time.Time{}, nil
			}
		}
	}
	p := &pass{
		c: c, now: now, main: main, backfills: backfills, free: map[*partition][]*node{},
		blocked: map[*partition]bool{}, guarded: map[*node]bool{}, known: map[shape]string{},
	}
	for _, r := range c.pending() {
		if r.state == slurm.JobPending {
			p.consider(r.job, r.in)
		}
	}
}

// pending returns the pending jobs' records, the highest rank first.
func (c *Cluster) pending() []record {
	var records []record
	for _, j := range c.queue {
		if j.state != slurm.JobPending {
			continue
		}
		j.partition = j.partitions[0]
		for _, in := range j.partitions {
			records = append(records, record{j, in})
		}
	}
	slices.SortStableFunc(records, func(a, b record) int {
		return cmp.Compare(b.priority, a.priority)
	})
	return records
}

// consider starts a job in a partition, once for each of its tasks, or notes why it waits.
func (p *pass) consider(j *job, in *partition) {
	switch {
	case j.unconfirmed > 0 || j.held():
		return
	case j.begin.After(p.now):
		j.reason = reasonBegin
		p.c.nextBegin = earlier(p.c.nextBegin, j.begin)
		return
	case p.c.depends(j):
		j.reason = reasonDependency
		return
	case j.het != nil:
		p.together(j)
		return
	case len(j.partitions) > 1 && (!in.takes(j.limit) || !j.suitsEnough(in)):
		return
	}
	for p.mayStart(j, in) {
		j.partition = in
		nodes := p.choose(j)
		if nodes == nil {
			p.wait(j)
			j.partition = j.partitions[0]
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

// mayStart reports whether the job can start if there are nodes, and otherwise sets its reason. The
// main scheduler does not check limits of jobs in a blocked partition.
func (p *pass) mayStart(j *job, in *partition) bool {
	r := j.reservation
	switch {
	case in.closed:
		j.reason = reasonClosed
		return false
	case p.c.roomInArray(j) <= 0:
		j.reason = reasonThrottle
		return false
	case r == nil && p.blocked[in] && !p.backfills:
		j.reason = reasonPriority
		return false
	case r != nil && !r.begun(p.now):
		j.reason = reasonReservation
		return false
	}
	if r == nil {
		return true
	}
	reason, wrong := p.c.misfit(j)
	if wrong {
		j.reason = reason
	}
	if j.reason == reasonConstraints {
		j.priority = 0
	}
	return !wrong
}

// choose returns nodes that a job can start on now, without the taken ones; nil: too few.
func (p *pass) choose(j *job, taken ...*node) []*node {
	for _, candidates := range together(j, p.candidates(j), itself) {
		if chosen := p.chooseAmong(j, candidates, taken); chosen != nil {
			return chosen
		}
	}
	return nil
}

func (p *pass) chooseAmong(j *job, candidates, taken []*node) []*node {
	chosen := make([]*node, 0, j.count)
	for _, n := range j.named {
		if !p.fits(j, n) || slices.Contains(taken, n) {
			return nil
		}
		chosen = append(chosen, n)
	}
	var cold []*node
	for _, n := range candidates {
		if len(chosen) == j.count {
			break
		}
		switch {
		case slices.Contains(chosen, n) || slices.Contains(taken, n) || !p.fits(j, n):
		case p.c.habits.shortestRun && n.has(slurm.PoweredDown):
			cold = append(cold, n)
		default:
			chosen = append(chosen, n)
		}
	}
	chosen = append(chosen, fromRuns(cold, j.count-len(chosen))...)
	if len(chosen) < j.count {
		return nil
	}
	slices.SortFunc(chosen, byOrder)
	return chosen
}

// fits reports whether a job can start on the node now.
func (p *pass) fits(j *job, n *node) bool {
	r := j.reservation
	inside := r == nil || slices.Contains(n.reservations, r)
	return inside && j.suits(n) && p.passes(j, n) &&
		n.usable() && n.vacant(j.partition) && !n.barred(j, p.now, j.until(p.now))
}

// passes reports whether the job may use the node although earlier jobs wait. The main scheduler
// ignores plans but skips guarded nodes. Backfill respects plans and skips hidden nodes.
func (p *pass) passes(j *job, n *node) bool {
	if j.reservation != nil || p.main && !p.guarded[n] {
		return true
	}
	return p.backfills && !n.hidden && !(n.planned() && j.until(p.now).After(n.plan.start))
}

// candidates returns the nodes to choose from: those of the job's reservation, or unreserved
// nodes of its partition.
func (p *pass) candidates(j *job) []*node {
	if j.reservation == nil {
		return p.freeIn(j.partition)
	}
	return slices.DeleteFunc(slices.Clone(j.reservation.nodes), func(n *node) bool {
		return !slices.Contains(n.partitions, j.partition.Name)
	})
}

// freeIn returns a partition's free unreserved nodes, powered-up nodes first, as Slurm's
// weights order them.
func (p *pass) freeIn(in *partition) []*node {
	free, known := p.free[in]
	if !known {
		for _, n := range in.nodes {
			if n.usable() && n.vacant(in) && !n.reserved {
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

// take removes nodes from the free lists after a job got them.
func (p *pass) take(nodes []*node) {
	taken := map[*node]bool{}
	for _, n := range nodes {
		taken[n] = true
	}
	for in, free := range p.free {
		p.free[in] = slices.DeleteFunc(free, func(n *node) bool { return taken[n] && !n.vacant(in) })
	}
}

// usable reports whether the node accepts jobs. A node that is powering up does, even if it is
// marked to be powered down.
func (n *node) usable() bool {
	switch {
	case n.down || n.hasAny(slurm.Drain|slurm.PoweringDown) || len(n.completing) > 0:
		return false
	case n.has(slurm.PowerDown) && !n.has(slurm.PoweringUp) && len(n.jobs) == 0:
		return false // will be powered down shortly
	}
	return !n.has(slurm.NotResponding) || n.hasAny(slurm.PoweredDown|slurm.PoweringUp)
}

// vacant reports whether another job of a partition fits.
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

// earlier returns the earlier of two times; zero means none.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || b.Before(a) {
		return b
	}
	return a
}

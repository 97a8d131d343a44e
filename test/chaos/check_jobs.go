package chaos

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"slurmflex/config"
	"slurmflex/mig"
	"slurmflex/slurm"
	"slurmflex/test/fakegce"
)

// bootLoss is how much of a lease a boot may use.
const bootLoss = 5 * time.Minute

// start checks that a job started by Slurm ends within the leases of its nodes. For a node
// that was up when Slurm allocated it, Slurm compares the times at allocation, although the
// job may then have waited for its other nodes. Three cases are excused or get slack: a job
// allocated on another job's nodes after the last pass, because Slurm calls no program then; a
// job delayed by a fault since, because slurmflex may have accepted old machines and other
// leases have run on; and a lease requested for another job, which may be short by one boot.
func (c *check) start(l life) {
	c.elsewhere(l)
	c.mu.Lock()
	unseen := l.given.After(c.looked)
	c.mu.Unlock()
	if !c.w.well() || !c.w.wellFor(time.Since(l.given)) || unseen || l.Limit.Kind != slurm.LimitSet {
		return
	}
	for _, node := range l.Nodes {
		from := time.Now()
		if c.w.machines.of(node).boot.Before(l.given) {
			from = l.given
		}
		may := from.Add(l.Limit.Duration)
		if in, _ := c.w.state().Instance(node); strings.Contains(in.Group, "-job-") && !strings.HasSuffix(in.Group, fmt.Sprintf("-job-%d", l.ID)) {
			may = may.Add(-bootLoss)
		}
		if end := c.w.machines.of(node).lease; !end.IsZero() && end.Before(may) {
			c.fail(lostJob, "job %d starts with a time limit until %s, but the lease of %s ends at %s",
				l.ID, clock(may.Sub(c.w.begun)), node, clock(end.Sub(c.w.begun)))
		}
	}
}

// elsewhere fails if a job runs in a partition that it was not submitted to.
func (c *check) elsewhere(l life) {
	if own := c.w.slurm.Truth(l.ID).Spec.Partition; own != "" && l.HetID == 0 && !slices.Contains(strings.Split(own, ","), setOf(l.Nodes[0]).name) {
		c.fail(lostJob, "job %d starts on %s, but was submitted to %s", l.ID, slurm.Fold(l.Nodes), own)
	}
}

// early fails if a node is removed from a job while its request still waits, before
// provision_timeout.
func (c *check) early(p *process, st fakegce.State, name string) {
	job, limit := c.w.watch.waiter(name), flexOf(p, name).ProvisionTimeout
	if job == nil || c.w.watch.forgiven(*job) || limit > 0 && time.Since(job.given) >= limit-wrongClock ||
		time.Since(job.given) < commandTime { // the node was allocated while the command ran
		return
	}
	for _, g := range c.w.ours(st) {
		stamp, _ := mig.ParseStamp(g.Description)
		for _, r := range g.Requests {
			if r.State == "ACCEPTED" && stamp.Job == job.ID && slurm.Fold(r.Instances) == slurm.Fold(job.Nodes) {
				c.fail(lostJob, "job %d loses its nodes %v after it was given them, while its request waits and may wait for %v",
					job.ID, time.Since(job.given).Truncate(time.Second), limit)
			}
		}
	}
}

// flexOf returns the provisioning settings of a node in a process's configuration.
func flexOf(p *process, node string) *config.Flex {
	set, _, _ := p.runsWith.Load().Find(node)
	return set.Flex
}

// patient fails if a request waits for machines longer than provision_timeout although Slurm
// would requeue its job. Bulk insert has no requests.
func (c *check) patient() {
	const slack = 10 * time.Minute
	if !c.w.wellFor(slack) {
		return
	}
	cfg, state := c.w.config(), sync.OnceValue(c.w.state) // read the cloud only if necessary
	queue, _ := c.w.watch.all()
	for _, l := range queue {
		if l.State != slurm.JobConfiguring || l.stays || !setOf(l.Nodes[0]).exclusive || setOf(l.Nodes[0]).bulk() {
			continue
		}
		set, _, _ := cfg.Find(l.Nodes[0])
		limit := set.Flex.ProvisionTimeout
		if limit == 0 || time.Since(l.given) <= limit+slack {
			continue
		}
		st := state()
		since := c.askedSince(st, l)
		for _, name := range l.Nodes {
			if _, there := st.Instance(name); there || c.w.lasting("stubborn "+name) { // the job cannot be requeued
				since = time.Now()
			}
			since = later(since, c.w.machines.of(name).left)
		}
		if time.Since(since) > limit+slack {
			c.fail(lostJob, "job %d waits for machines for %v, and may for %v", l.ID, time.Since(since).Truncate(time.Second), limit)
		}
	}
}

// askedSince returns when a live request for the job's first node was created, but not a time
// before the job's allocation. Without a request, for example because the job waits for its
// turn, it returns now.
func (c *check) askedSince(st fakegce.State, l life) (since time.Time) {
	since = time.Now()
	for _, g := range c.w.ours(st) {
		for _, r := range g.Requests {
			if slices.Contains(r.Instances, l.Nodes[0]) && mig.RequestState(r.State).Live() && r.Created.Before(since) {
				since = r.Created
			}
		}
	}
	return later(since, l.given)
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// cancel checks that slurmflex does not cancel a running job.
func (c *check) cancel(job uint32) {
	c.w.watch.drop(job)
	if l := c.w.watch.running(job); l != nil {
		c.fail(wrongKill, "job %d is cancelled while it runs", l.ID)
	}
}

// requeue fails if slurmflex requeues a running job without a reason. The reason is that a
// node's lease ends, or maintenance of its host starts, within minutes.
func (c *check) requeue(job uint32) {
	const minutes = 5 * time.Minute
	l := c.w.watch.running(job)
	if l == nil {
		return
	}
	queue, _ := c.w.watch.all()
	for _, other := range queue {
		if other.ID != l.ID && (l.HetID == 0 || other.HetID != l.HetID) {
			continue
		}
		for _, node := range other.Nodes {
			in, _ := c.w.state().Instance(node)
			for _, end := range []time.Time{c.w.machines.of(node).lease, in.Maintained} {
				if !end.IsZero() && time.Until(end) < minutes {
					return
				}
			}
		}
	}
	c.fail(wrongKill, "job %d is requeued while it runs, and no lease of its nodes ends soon", job)
}

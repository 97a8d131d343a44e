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

// bootLoss is how much of a lease a boot may take.
const bootLoss = 5 * time.Minute

// start judges that Slurm starts a job, which it does not where the job could not
// be done before the lease of one of its nodes ends. Of a node that was up when
// the job was given it, Slurm judges by that time, though the job may have waited
// for its other nodes since. A job that was put on nodes of another one after the
// last pass is excepted: Slurm calls nobody then. So is one that something kept waiting
// since: old machines of its nodes may have been taken for good ones meanwhile, and the
// leases of the others run. A lease that was requested for another job may lack what a
// boot takes of it.
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
			c.fail(lostJob, "job %d begins to run and has until %s, and the lease of %s ends at %s",
				l.ID, clock(may.Sub(c.w.begun)), node, clock(end.Sub(c.w.begun)))
		}
	}
}

// elsewhere judges that a job runs in a partition that it was submitted to.
func (c *check) elsewhere(l life) {
	if own := c.w.slurm.Submitted(l.ID).Partition; own != "" && l.HetID == 0 && !slices.Contains(strings.Split(own, ","), setOf(l.Nodes[0]).name) {
		c.fail(lostJob, "job %d begins to run on %s, and it was submitted to %s", l.ID, slurm.Fold(l.Nodes), own)
	}
}

// early judges that a node is taken from a job while its request waits, which may
// be for provision_timeout only.
func (c *check) early(p *process, st fakegce.State, name string) {
	job, limit := c.w.watch.waiter(name), flexOf(p, name).ProvisionTimeout
	if job == nil || c.w.watch.forgiven(*job) || limit > 0 && time.Since(job.given) >= limit-wrongClock ||
		time.Since(job.given) < commandTime { // it was given the node while that was being taken
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

// flexOf is how a process has a node provisioned.
func flexOf(p *process, node string) *config.Flex {
	set, _, _ := p.runsWith.Load().Find(node)
	return set.Flex
}

// patient judges that no request of a job which Slurm would requeue waits for machines for
// longer than provision_timeout. Bulk insert leaves no request.
func (c *check) patient() {
	const slack = 10 * time.Minute
	if !c.w.wellFor(slack) {
		return
	}
	cfg, state := c.w.config(), sync.OnceValue(c.w.state) // few looks need the cloud
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
			if _, there := st.Instance(name); there || c.w.lasting("stubborn "+name) { // it could not be taken back
				since = time.Now()
			}
			since = later(since, c.w.machines.of(name).left)
		}
		if time.Since(since) > limit+slack {
			c.fail(lostJob, "job %d waits for machines for %v, and may for %v", l.ID, time.Since(since).Truncate(time.Second), limit)
		}
	}
}

// askedSince is since when a request for the job's first node is live, but not before the job
// was given it; now if there is none, as where the job waits for its turn.
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

// cancel judges that a job is cancelled by us.
func (c *check) cancel(job uint32) {
	c.w.watch.drop(job)
	if l := c.w.watch.running(job); l != nil {
		c.fail(wrongKill, "job %d is cancelled while it runs", l.ID)
	}
}

// requeue judges that a running job is requeued, which it is only if the lease of one of
// its nodes ends within minutes, or maintenance of its host begins, and before the job has
// to.
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

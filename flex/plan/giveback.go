package plan

import (
	"fmt"
	"slices"
	"time"

	"slurmflex/config"
	"slurmflex/mig"
	"slurmflex/slurm"
)

// Then says what becomes of a job whose nodes go back to Slurm.
type Then string

// What may become of it.
const (
	Requeue Then = "requeue" // Slurm starts it again when it can
	Hold    Then = "hold"    // it stays in the queue until an admin releases it
	Cancel  Then = "cancel"  // it ends
	Lose    Then = "lose"    // Slurm ends it, for it would not requeue it
)

// GiveBack powers down nodes of a job, so that Slurm takes the job back, and
// does with it what Then says. Jobs that Slurm would not requeue are told first;
// see flex.
type GiveBack struct {
	Job      uint32
	Name     string   // as squeue shows it
	Others   []uint32 // that hold any of the nodes too
	Nodes    []string
	Extra    map[string]string // written to nodes, by their names; nil: none
	Reason   string
	Then     Then
	Hopeless bool // a job is lost rather than left waiting
}

func (a GiveBack) String() string {
	return fmt.Sprintf("give back %s and %s job %s", slurm.Fold(a.Nodes), a.Then, a.Name)
}

// Because returns the reason.
func (a GiveBack) Because() string { return a.Reason }

// Queue is the job's own.
func (a GiveBack) Queue() string { return jobQueue(a.Job) }

// giveBack gives a cohort up. All nodes of its job that have no machine yet go
// at once: had one been left out, another job could be placed on it without a
// call. A static node keeps waiting, for nobody would ask for it again.
func (w *world) giveBack(c *cohort, then Then, hopeless bool, reason string) {
	w.problem(fmt.Sprintf("%s: %s", c.group, reason))
	switch {
	case c.job != nil:
		nodes := w.takeable(c.job, hopeless && then != Cancel)
		if len(nodes) > 0 || then == Cancel {
			w.takeBack(c.job, GiveBack{Nodes: nodes, Reason: reason, Then: then, Hopeless: hopeless})
		}
		if told, warned := w.warned(w.holders(nodes)); warned && hopeless && then != Cancel {
			c.loss, c.lostAt = reason, told.Add(grace)
		}
		if !w.isGiven(c) {
			c.pause = reason // its nodes, or those of another job that is spared, stay for now
		}
	case c.static:
		c.obstacle = reason
	default:
		w.setNodes(SetNodes{
			Nodes: c.nodes, State: "power_down_force", Reason: ReasonPrefix + reason,
			Why: Why(fmt.Sprintf("%s: %s", c.group, reason)),
		})
	}
}

// takeable returns the nodes that can be taken from a job. Those that other jobs
// hold too go only where nothing could help these either; then one job may be
// left that waits on. Nobody knows what would help one that could not be read. In a region that could not be read a machine may be there.
func (w *world) takeable(job *slurm.Job, forAll bool) []string {
	return slices.DeleteFunc(w.unbooted(job), func(name string) bool {
		m := w.nodes[name]
		return w.isUnread(m) || m.doubted || !forAll && len(m.jobs) > 1
	})
}

// stays reports whether a cohort would keep its nodes if it were given up though
// there is hope.
func (w *world) stays(c *cohort) bool {
	if c.job == nil {
		return c.static
	}
	return w.keeps(c) || len(w.takeable(c.job, false)) == 0
}

// takeBack plans that nodes of the job go back, unless they do already, or
// somebody would be lost by it who is to be spared for now.
func (w *world) takeBack(job *slurm.Job, a GiveBack) {
	holders := w.holders(a.Nodes)
	if !slices.Contains(holders, job) {
		holders = append(holders, job)
	}
	if w.given[job.ID] || w.mustKeep(holders, a.Hopeless) {
		return
	}
	w.given[job.ID] = true
	for _, n := range a.Nodes {
		w.changed[n] = true
	}
	a.Job, a.Name = job.ID, job.Name()
	for _, j := range holders {
		if j != job {
			a.Others = append(a.Others, j.ID)
		}
	}
	slices.Sort(a.Others)
	w.add(a)
	w.expect(fmt.Sprintf("nodes of job %s to go back", job.Name()))
}

// grace is how long the owner of a job that Slurm would not requeue has been
// told before anything is taken from it.
const grace = time.Minute

// warned tells when the last of the jobs' owners was told that the job would be
// lost. It reports false if none was.
func (w *world) warned(jobs []*slurm.Job) (last time.Time, any bool) {
	for _, j := range jobs {
		if at, warned := WarnedAt(w.snap.Told[j.ID]); warned {
			last, any = later(last, at), true
		}
	}
	return last, any
}

// keeps reports whether the cohort goes on waiting where another would not: a
// job would be lost otherwise, and its owner has been told.
func (w *world) keeps(c *cohort) bool {
	_, warned := w.warned(w.holders(c.nodes))
	return warned
}

// mustKeep reports whether the jobs keep their nodes for now: one would be lost,
// and there is hope, or its owner has only just been told that there is none.
func (w *world) mustKeep(jobs []*slurm.Job, hopeless bool) bool {
	last, warned := w.warned(jobs)
	if warned && hopeless && !w.isOld(last, grace) {
		w.expect("the owner of a job that is lost to have had time to read so")
		return true
	}
	return warned && !hopeless
}

// unbooted returns the job's flex nodes that are rising and have no machine of ours,
// as far as can be seen.
func (w *world) unbooted(job *slurm.Job) []string {
	var names []string
	for _, name := range job.Nodes {
		if m := w.nodes[name]; m != nil && m.power == rising && !w.hasMachine(name) && !w.mayShow[name] {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// giveUpLate gives cohorts up that have waited for capacity for longer than
// provision_timeout.
func (w *world) giveUpLate(cohorts []*cohort) {
	for _, c := range cohorts {
		limit, since := c.set.Flex.ProvisionTimeout, w.lacksSince(c)
		stranger := w.stranger(c)
		if limit == 0 || since.IsZero() || w.unseen(c.set.Region) || w.unreadOf(c) != "" || stranger == "" && w.anyPresent(c.nodes) {
			continue
		}
		if waited := w.snap.Now.Sub(since); w.isOld(since, limit) {
			reason := fmt.Sprintf("no capacity for %d × %s in %s (provision_timeout %s)",
				len(c.nodes), w.machineType(c), roughly(waited), clock(limit))
			if message := w.lastAttempt(c); message != "" {
				reason += "; last attempt: " + message
			}
			if stranger != "" {
				reason = fmt.Sprintf("%s (provision_timeout %s)", stranger, clock(limit))
			}
			then := Then(c.set.Flex.OnProvisionTimeout)
			w.giveBack(c, then, then == Cancel, reason)
		}
	}
}

// lastAttempt is what the cloud said last about the cohort.
func (w *world) lastAttempt(c *cohort) string {
	if c.live != nil {
		return c.live.request.Message
	}
	_, _, message, _ := w.failures(c, w.groups[c.set.Region+"/"+c.group])
	return message
}

// waitsSince is when the cohort's job began to wait for its nodes: when it was
// given them, or if that is not known, when they were first asked for. It is
// zero if neither is known, or nothing waits.
func waitsSince(c *cohort) time.Time {
	switch {
	case c.job == nil:
		return time.Time{}
	case !c.job.Start.IsZero():
		return c.job.Start
	case c.live == nil:
		return time.Time{}
	}
	first := c.live.request.Created
	requests := c.live.group.Requests
	at := slices.IndexFunc(requests, func(r mig.Request) bool { return r.Name == c.live.request.Name })
	for i := at - 1; i >= 0 && requests[i].State == mig.Failed; i-- {
		first = requests[i].Created
	}
	return first
}

// releaseGangs gives jobs back of whose nodes some have come and others not,
// for longer than gang_timeout: the machines that are there cost money and
// nobody can use them. The least important goes first, and one that lacks nodes of a
// nodeset stays for another gang_timeout at most while machines of that nodeset are
// being left: two may hold each other's half.
func (w *world) releaseGangs(cohorts []*cohort) {
	left := w.beingLeft()
	for _, c := range slices.Backward(cohorts) {
		limit := c.set.Flex.GangTimeout
		if limit == 0 || c.job == nil || c.stamp.Node != "" || w.unseen(c.set.Region) || w.unreadOf(c) != "" {
			continue
		}
		came, since := w.came(c.job)
		if came == 0 || !w.isOld(since, limit) {
			continue
		}
		others := w.takeable(c.job, false)
		hope := slices.ContainsFunc(others, func(n string) bool { return left[w.nodes[n].set] })
		if len(others) == 0 || w.given[c.job.ID] || hope && !w.isOld(since, 2*limit) {
			continue
		}
		w.giveBack(c, Requeue, false, fmt.Sprintf("%d nodes came at %s and %d others did not within gang_timeout %s",
			came, since.UTC().Format("15:04:05"), len(others), clock(limit)))
		for _, name := range c.job.Nodes {
			if m := w.nodes[name]; m != nil && w.given[c.job.ID] && !slices.Contains(others, name) {
				left[m.set] = true
			}
		}
	}
}

// beingLeft are the nodesets of which a machine goes, or has no job any more.
func (w *world) beingLeft() map[*config.NodeSet]bool {
	left := map[*config.NodeSet]bool{}
	for _, in := range w.machines {
		if m := in.member; m != nil && w.ours(in) && !m.set.IsStatic(m.index) && (in.Leaving() || m.owner() == nil) {
			left[m.set] = true
		}
	}
	return left
}

// releaseShort gives jobs back that wait for nodes, while another of theirs is up
// that came for another job, and whose lease ends before they could be done even
// if they began now: Slurm judged that when it gave them their nodes.
func (w *world) releaseShort(cohorts []*cohort) {
	for _, c := range cohorts {
		if c.job == nil || c.job.State == slurm.JobRunning || len(w.takeable(c.job, false)) == 0 {
			continue
		}
		for _, name := range c.job.Nodes {
			if end := w.shortEnd(c.job, w.nodes[name]); !end.IsZero() {
				w.giveBack(c, Requeue, false, fmt.Sprintf("the lease of node %s, which is up, ends at %s, before the job could be done",
					name, end.UTC().Format(time.RFC3339)))
				break
			}
		}
	}
}

// shortEnd is when the lease of a node ends that is up, came for another job, and
// is too short for this one; zero if that is not so.
func (w *world) shortEnd(job *slurm.Job, m *member) time.Time {
	if m == nil || m.power != up {
		return time.Time{}
	}
	for _, in := range m.machines {
		if w.ours(in) && in.stamp().Job != job.ID && w.snap.Skew <= maxSkew && isTooShort(in, job, w.snap.Now, m.set.Flex.MaxRunDuration) {
			return in.Terminates
		}
	}
	return time.Time{}
}

// came tells how many of a job's nodes have a machine that came for this job,
// and since when the first has been there for it: one of an earlier run, from
// before the job was requeued, since the job was given its nodes.
func (w *world) came(job *slurm.Job) (n int, since time.Time) {
	for _, name := range job.Nodes {
		for _, in := range w.instances[name] {
			if in.group == nil || in.group.Stamp.Job != job.ID || in.Leaving() {
				continue
			}
			n++
			if at := later(in.Created, job.Start); since.IsZero() || at.Before(since) {
				since = at
			}
		}
	}
	return n, since
}

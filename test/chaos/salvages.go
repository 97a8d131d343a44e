package chaos

import (
	"fmt"
	"slices"
	"sync"
	"time"
)

// salvages knows the gangs for which machines are held after a loss, and counts what
// becomes of them.
type salvages struct {
	mu    sync.Mutex
	open  map[uint32]hold
	tears []tear // that wait for their jobs to run
	count salvageCount
}

// hold is what is held for a job.
type hold struct {
	survivors []string
	begun     time.Time
}

// salvageCount counts salvages.
type salvageCount struct{ begun, done, over int }

func (c *salvageCount) add(more salvageCount) {
	c.begun += more.begun
	c.done += more.done
	c.over += more.over
}

func (c salvageCount) String() string {
	return fmt.Sprintf("%d gangs that lost machines had others held: %d run on these, %d were given up", c.begun, c.done, c.over)
}

func (s *salvages) lieInWait(e tear) {
	defer locked(&s.mu)()
	s.tears = append(s.tears, e)
}

// look has the gangs lose machines that have run for long enough.
func (s *salvages) look(w *world) {
	s.mu.Lock()
	waiting := s.tears
	s.tears = nil
	s.mu.Unlock()
	for _, e := range waiting {
		id, known := w.jobs[e.job]
		l := w.watch.queued(func(l *life) bool { return known && l.ID == id && !l.runs.IsZero() && time.Since(l.runs) >= e.after })
		if l == nil {
			s.lieInWait(e)
		} else {
			w.journal.note("%v", e)
			e.befall(w, l)
		}
	}
}

// calm has no more gangs lose machines.
func (s *salvages) calm() {
	defer locked(&s.mu)()
	s.tears = nil
}

// begin notes that nodes are held for a job, of which those survive that have machines.
func (s *salvages) begin(w *world, job uint32, nodes []string) {
	survivors := slices.DeleteFunc(slices.Clone(nodes), func(name string) bool { return !w.machines.of(name).answers })
	defer locked(&s.mu)()
	if s.open == nil {
		s.open = map[uint32]hold{}
	}
	s.open[job] = hold{survivors, time.Now()}
	s.count.begun++
}

// end notes that nothing is held for a job any more.
func (s *salvages) end(w *world, job uint32) {
	l := w.watch.queued(func(l *life) bool { return l.ID == job && !l.runs.IsZero() })
	defer locked(&s.mu)()
	h, open := s.open[job]
	switch {
	case !open:
		return
	case l != nil && slices.ContainsFunc(h.survivors, func(name string) bool { return slices.Contains(l.Nodes, name) }):
		s.count.done++
	default:
		s.count.over++
	}
	delete(s.open, job)
}

// holder is the job for which a machine has been held, and since when; 0 if there is none.
func (s *salvages) holder(node string) (job uint32, since time.Time) {
	defer locked(&s.mu)()
	for id, h := range s.open {
		if slices.Contains(h.survivors, node) && h.begun.After(since) {
			job, since = id, h.begun
		}
	}
	return job, since
}

func (s *salvages) soFar() salvageCount {
	defer locked(&s.mu)()
	return s.count
}

// spared judges that a machine, or its node's power, is taken that is held for a job which
// can start there, before salvage_timeout.
func (c *check) spared(p *process, name, what string) {
	const slack = 2 * time.Minute
	job, since := c.w.salvages.holder(name)
	m := c.w.machines.of(name)
	if job == 0 || time.Since(since) > salvageTimeout-slack || !c.salvages(job) || c.w.watch.asked(name, recent) || !m.answers || c.w.lasting("clock") || c.w.rows.any() {
		return
	}
	in, _ := c.w.state().Instance(name)
	l := c.w.watch.queued(func(l *life) bool { return l.ID == job && l.State.Waits() && l.Priority > 0 })
	if l != nil && !c.w.watch.forgiven(*l) && in.Maintained.IsZero() && time.Until(m.lease) > l.Limit.Duration+slack {
		c.fail(wrongKill, "%s %s %s, which is held for job %d", p.name, what, name, job)
	}
}

// idles judges that a machine which came for a job is idle for no longer than it is held
// after a loss, or may be looked at whether it is to be.
func (c *check) idles() {
	const slack = 8 * time.Minute
	if !c.w.wellFor(slack) {
		return
	}
	const limit = salvageTimeout/2 + slack
	for _, name := range c.w.setup.slurm.Nodes {
		set, n := setOf(name), c.w.watch.node(name)
		if !c.w.setup.salvages(set) || c.w.setup.keeps(set) || n.State.String() != "IDLE+CLOUD" || n.LastBusyTime.IsZero() ||
			time.Since(n.LastBusyTime) <= limit || !c.w.machines.of(name).answers || c.w.lasting("stubborn "+name) {
			continue
		}
		if job, since := c.w.salvages.holder(name); job != 0 && time.Since(since) < salvageTimeout+slack {
			continue
		}
		_, byHand := c.w.byHand.Load(name)
		if in, there := c.w.state().Instance(name); there && in.Group != "" && !byHand {
			c.fail(orphan, "%s has been idle for more than %v, and is held for nobody", name, limit)
		}
	}
}

package plan

import (
	"fmt"
	"slices"

	"slurmflex/flex/plan/scene"
	"slurmflex/mig"
	"slurmflex/slurm"
)

// settled is a live request, and why it is to be cancelled; empty if it stays.
type settled struct {
	scene.Live
	misfit string
}

// settleRequests gives each live request to the cohort that it serves, and says why
// one that serves none must go. A request is all or nothing, so one node that nobody
// wants makes the whole of it wrong, but if tasks share it, only when nobody wants more than
// half of them, because the others would lose their place in Google's queue. A node of the
// configuration that Slurm does not show, or shows in a state that we do not understand,
// never makes a request wrong. Those whose lease is long enough for all jobs of their nodes
// come first, and then the older ones.
func (w *wanted) settleRequests() {
	var short []scene.Live
	for _, r := range w.scene.LiveRequests() {
		if slices.ContainsFunc(r.Request.Instances, func(name string) bool {
			m := w.scene.Node(name)
			return m != nil && w.cohortOf(m) != nil && isShort(r, w.cohortOf(m))
		}) {
			short = append(short, r)
		} else {
			w.settled = append(w.settled, settled{r, w.misfit(r)})
		}
	}
	for _, r := range short {
		w.settled = append(w.settled, settled{r, w.misfit(r)})
	}
}

// refreshOldest replaces the request that has waited longest, if it has waited longer than its
// nodeset's refresh_after. Each pass replaces one request, so that a queue of them does not lose
// all its places at Google at once. refreshOldest keeps a request that creates machines, and a
// request that could not be made again now.
func (w *wanted) refreshOldest() {
	var oldest *cohort
	for _, c := range w.cohorts {
		after := c.set.Flex.RefreshAfter
		if after == 0 || c.live == nil || !w.scene.IsOld(c.live.Request.Created, after) || !onlyWaits(w.scene, c.live) {
			continue
		}
		if (oldest == nil || c.live.Request.Created.Before(oldest.live.Request.Created)) && w.mayAsk(c) == barsNothing {
			oldest = c
		}
	}
	if oldest == nil {
		return
	}
	old := oldest.live.Request
	for i := range w.settled {
		if w.settled[i].Request == old {
			w.settled[i].misfit = fmt.Sprintf("it has waited for %s (refresh_after %s)",
				roughly(w.scene.Seen.Now.Sub(old.Created)), clock(oldest.set.Flex.RefreshAfter))
		}
	}
	for _, c := range w.cohorts { // tasks may share it
		if c.live != nil && c.live.Request == old {
			c.live = nil
			c.missing, c.first = w.missing(c)
		}
	}
}

// onlyWaits reports whether a live request waits for capacity: it creates no machine.
func onlyWaits(s *scene.Scene, r *scene.Live) bool {
	return r.Request.State == mig.Accepted && !anyPresent(s, r.Request.Instances)
}

// isShort reports whether the request's lease is shorter than the cohort needs.
func isShort(r scene.Live, c *cohort) bool {
	return r.Request.Duration > 0 && r.Request.Duration < c.lease
}

// misfit says why a live request must go; empty if it is to stay. A request
// that stays is noted in the cohort that it serves.
func (w *wanted) misfit(r scene.Live) string {
	if len(r.Request.Instances) == 0 {
		if r.Request.Count > 0 && w.scene.IsOld(r.Request.Created, strandedAfter) {
			return "it asks for a number of instances and names none, so that no node can be theirs"
		}
		return ""
	}
	if superfluous(w.scene, r) {
		return "its nodes have machines of other groups"
	}
	shared := r.Group.Stamp.Array != 0
	var serves []*cohort
	var unwanted []string
	for _, name := range slices.Sorted(slices.Values(r.Request.Instances)) {
		m := w.scene.Node(name)
		var c *cohort
		if m != nil {
			c = w.cohortOf(m)
		}
		switch {
		case m == nil && w.scene.IsStranded(name) && w.scene.IsOld(r.Request.Created, strandedAfter):
			return "the configuration knows no node " + name
		case m == nil || m.Power == scene.Unclear || m.Power == scene.On, c == nil && m.Doubted:
			continue
		case m.Power == scene.Off && len(m.Holders) > 0:
			continue // a job has just been given it, or is leaving
		case shared && (m.Power == scene.Off || c == nil && !m.State.Held()):
			unwanted = append(unwanted, name)
			continue
		case m.Power == scene.Off:
			return "node " + name + " is powered down"
		case c == nil && m.State.Held():
			continue // a job is coming or going: the next pass will see clearly
		case c == nil:
			return "no job wants node " + name + " any more"
		case !shared && len(serves) > 0 && serves[0] != c:
			return fmt.Sprintf("its nodes belong to %s and %s now", serves[0].group, c.group)
		}
		if !slices.Contains(serves, c) {
			serves = append(serves, c)
		}
	}
	if shared && 2*len(unwanted) > len(r.Request.Instances) {
		return fmt.Sprintf("no job wants %s any more", counted(unwanted))
	}
	for _, c := range serves {
		if c.live == nil && w.lacks(r, c) != "" && anyDoubted(w.scene, r.Request.Instances) {
			return "" // it may serve the job that could not be read
		}
		if why := w.fails(r, c); why != "" {
			return why
		}
	}
	for _, c := range serves {
		c.live = &r
	}
	return ""
}

// fails says why the request cannot serve the cohort; empty if it can.
func (w *wanted) fails(r scene.Live, c *cohort) string {
	if c.live != nil {
		return fmt.Sprintf("%s/%s asks for the same nodes", c.live.Group.Name, c.live.Request.Name)
	}
	if name := w.lacks(r, c); name != "" {
		return fmt.Sprintf("it does not bring node %s of %s", name, c.group)
	}
	if isShort(r, c) && !isEnough(w.scene, r, c) {
		return fmt.Sprintf("its lease of %s is shorter than the %s that %s needs",
			clock(r.Request.Duration), clock(c.lease), c.group)
	}
	return ""
}

// lacks is a node of the cohort that neither has a machine nor gets one by the request;
// empty if there is none.
func (w *wanted) lacks(r scene.Live, c *cohort) string {
	for _, name := range c.nodes {
		if stays, _ := w.scene.Stays(name); !stays && !r.Request.Names(name) && !isUnsized(w.scene, c.set) {
			return name
		}
	}
	return ""
}

// isEnough reports whether the request's lease is long enough for any of the jobs
// that wait for the nodes: a job that Slurm adds to them takes from no other its
// place in Google's queue. For the job that it was made for the time limit alone
// counts, so that it keeps its lease when only what the configuration adds has
// grown. What was asked for without a job is nobody's to cancel, nor is what a job may
// wait for that could not be read.
func isEnough(s *scene.Scene, r scene.Live, c *cohort) bool {
	asked, made := r.Request.Duration, r.Group.Stamp
	return c.job == nil || made.Job == 0 && made.Array == 0 || anyDoubted(s, c.nodes) || slices.ContainsFunc(c.holders, func(j *slurm.Job) bool {
		fits := scene.IsFor(made, j) && j.Limit.Kind == slurm.LimitSet && j.Limit.Duration <= asked
		return j.State != slurm.JobCompleting && (fits || scene.Lease(c.set.Flex, []*slurm.Job{j}) <= asked)
	})
}

// superfluous reports whether every instance that the request asks for is there
// already, by another group.
func superfluous(s *scene.Scene, r scene.Live) bool {
	for _, name := range r.Request.Instances {
		elsewhere := slices.ContainsFunc(s.MachinesOf(name), func(in scene.Machine) bool {
			return !in.Leaving() && in.Group != r.Group.Name && !s.IsNew(in, r) && in.Unread == ""
		})
		if !elsewhere {
			return false
		}
	}
	return len(r.Request.Instances) > 0
}

// anyPresent reports whether any of the nodes has an instance, in any state.
func anyPresent(s *scene.Scene, nodes []string) bool {
	for _, n := range nodes {
		if len(s.MachinesOf(n)) > 0 {
			return true
		}
	}
	return false
}

// anyDoubted reports whether an unreadable job may hold one of the nodes.
func anyDoubted(s *scene.Scene, nodes []string) bool {
	return slices.ContainsFunc(nodes, func(name string) bool {
		m := s.Node(name)
		return m != nil && m.Doubted
	})
}

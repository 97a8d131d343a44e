package plan

import (
	"fmt"
	"slices"

	"slurmflex/flex/plan/action"
	"slurmflex/flex/plan/scene"
	"slurmflex/mig"
	"slurmflex/slurm"
)

// settled is a live request, and why it must be cancelled; empty if it is kept.
type settled struct {
	scene.Live
	misfit string
}

// settleRequests assigns each live request to the cohort that it serves, and decides why a request
// that serves none must be cancelled. Compute grants a request as a whole, so a single node that no
// job needs makes the request wrong. A request that jobs share is wrong only if no job needs more
// than half of its nodes, because the remaining jobs would lose their queue position at Google. A
// configured node that Slurm does not show, or shows in an unknown state, never makes a request
// wrong. Requests with a lease that is long enough for all jobs of their nodes are considered
// first, then older requests.
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

// withdraw marks a live request as one to cancel, for that reason. The cohorts that it served lack
// their nodes from now on.
func (w *wanted) withdraw(r *mig.Request, why string) {
	for i := range w.settled {
		if w.settled[i].Request == r {
			w.settled[i].misfit = why
		}
	}
	for _, c := range w.cohorts { // jobs may share it
		if c.live != nil && c.live.Request == r {
			c.live = nil
			c.missing, c.first = w.missing(c)
		}
	}
}

// onlyWaits reports whether a live request waits for capacity and is not creating a machine.
func onlyWaits(s *scene.Scene, r *scene.Live) bool {
	return r.Request.State == mig.Accepted && !anyPresent(s, r.Request.Instances)
}

// isShort reports whether the request's lease is shorter than the cohort needs.
func isShort(r scene.Live, c *cohort) bool {
	return r.Request.Duration > 0 && r.Request.Duration < c.lease
}

// misfit returns why a live request must be cancelled; empty if it is kept. A kept request becomes
// the live request of the cohort that it serves.
func (w *wanted) misfit(r scene.Live) string {
	if len(r.Request.Instances) == 0 {
		if r.Request.Count > 0 && w.scene.IsOld(r.Request.Created, scene.StrandedAfter) {
			return "the request lists no instance names"
		}
		return ""
	}
	if superfluous(w.scene, r) {
		return "its nodes have machines of other groups"
	}
	shared := r.Group.Stamp.Shared()
	var serves []*cohort
	var unwanted []string
	for _, name := range slices.Sorted(slices.Values(r.Request.Instances)) {
		m := w.scene.Node(name)
		var c *cohort
		if m != nil {
			c = w.cohortOf(m)
		}
		switch {
		case m == nil && w.scene.IsStranded(name) && w.scene.IsOld(r.Request.Created, scene.StrandedAfter):
			return "the configuration knows no node " + name
		case m == nil || m.Power == scene.Unclear || m.Power == scene.On, c == nil && m.Doubted:
			continue
		case m.Power == scene.Off && len(m.Holders) > 0:
			continue // a job has just been allocated the node, or is leaving it
		case shared && w.handed.kept[m]:
			continue // another job gets its machine
		case shared && (m.Power == scene.Off || c == nil && !m.State.Held()):
			unwanted = append(unwanted, name)
			continue
		case m.Power == scene.Off:
			return "node " + name + " is powered down"
		case c == nil && m.State.Held():
			continue // a job is arriving or leaving: the next pass will have a clear state
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
		return fmt.Sprintf("no job wants %s any more", action.Counted(unwanted))
	}
	for _, c := range serves {
		if c.live == nil && w.lacks(r, c) != "" && anyDoubted(w.scene, r.Request.Instances) {
			return "" // the request may serve the unreadable job
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

// fails returns why the request cannot serve the cohort; empty if it can.
func (w *wanted) fails(r scene.Live, c *cohort) string {
	if c.live != nil {
		return fmt.Sprintf("%s/%s asks for the same nodes", c.live.Group.Name, c.live.Request.Name)
	}
	if name := w.lacks(r, c); name != "" {
		return fmt.Sprintf("it does not bring node %s of %s", name, c.group)
	}
	if isShort(r, c) && !isEnough(w.scene, r, c) {
		return fmt.Sprintf("its lease of %s is shorter than the %s that %s needs",
			slurm.Clock(r.Request.Duration), slurm.Clock(c.lease), c.group)
	}
	return ""
}

// lacks returns a node of the cohort that lacks a machine and that the request does not name; empty
// if there is no such node.
func (w *wanted) lacks(r scene.Live, c *cohort) string {
	for _, name := range c.nodes {
		if stays, _ := w.scene.Stays(name); !stays && !r.Request.Names(name) && !isUnsized(w.scene, c.set) {
			return name
		}
	}
	return ""
}

// isEnough reports whether the request's lease is long enough for at least one job that waits for
// the nodes, so that a job that Slurm adds later does not cost another job its queue position at
// Google. For the job that the request was made for, only the time limit counts. That job keeps its
// request when only the extra time in the configuration has grown. A request without a job counts
// as long enough, as does a request that an unreadable job may wait for.
func isEnough(s *scene.Scene, r scene.Live, c *cohort) bool {
	asked, made := r.Request.Duration, r.Group.Stamp
	return c.job == nil || !made.ForJobs() || anyDoubted(s, c.nodes) || slices.ContainsFunc(c.holders, func(j *slurm.Job) bool {
		fits := scene.IsFor(made, j) && j.Limit.Kind == slurm.LimitSet && j.Limit.Duration <= asked
		return j.State != slurm.JobCompleting && (fits || scene.Lease(c.set.Flex, []*slurm.Job{j}) <= asked)
	})
}

// superfluous reports whether every instance that the request names already exists in another
// group.
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

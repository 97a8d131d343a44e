package demand

import (
	"cmp"
	"fmt"
	"slices"

	"slurmflex/flex/plan/action"
	"slurmflex/flex/plan/scene"
	"slurmflex/mig"
	"slurmflex/slurm"
)

// Settled is a live request, and why it must be cancelled; empty if it is kept.
type Settled struct {
	scene.Live
	Misfit string
}

// settleRequests assigns each live request to the claim that it serves, and decides why a request
// that serves none must be cancelled. Compute grants a request as a whole, so a single node that no
// job needs makes the request wrong. A request that jobs share is wrong only if no job needs more
// than half of its nodes, because the remaining jobs would lose their queue position at Google. A
// configured node that Slurm does not show, or shows in an unknown state, never makes a request
// wrong. Requests with a lease that is long enough for all jobs of their nodes are considered
// first, then older requests.
func (w *Wanted) settleRequests() {
	var short []scene.Live
	for _, r := range w.Live {
		if w.AnyNode(r.Request.Instances, func(m *scene.Node) bool { return w.ClaimOf(m) != nil && isShort(r, w.ClaimOf(m)) }) {
			short = append(short, r)
		} else {
			w.Settled = append(w.Settled, Settled{r, w.misfit(r)})
		}
	}
	for _, r := range short {
		w.Settled = append(w.Settled, Settled{r, w.misfit(r)})
	}
}

// Withdraw marks a live request as one to cancel, for that reason. The claims that it served lack
// their nodes from now on.
func (w *Wanted) Withdraw(r *mig.Request, why string) {
	for i := range w.Settled {
		if w.Settled[i].Request == r {
			w.Settled[i].Misfit = why
		}
	}
	for _, c := range w.Claims { // jobs may share it
		if c.Live != nil && c.Live.Request == r {
			c.Live = nil
			c.Missing, c.First = w.missing(c)
		}
	}
}

// isShort reports whether the request's lease is shorter than the claim needs.
func isShort(r scene.Live, c *Claim) bool {
	return r.Request.Duration > 0 && r.Request.Duration < c.Lease
}

// misfit returns why a live request must be cancelled; empty if it is kept. A kept request becomes
// the live request of the claim that it serves.
func (w *Wanted) misfit(r scene.Live) string {
	if len(r.Request.Instances) == 0 {
		if r.Request.Count > 0 && w.IsOld(r.Request.Created, scene.OrphanedAfter) {
			return "the request lists no instance names"
		}
		return ""
	}
	if slices.ContainsFunc(w.Doors, func(d *scene.Door) bool {
		return d.Job != nil && scene.IsFor(r.Group.Stamp, d.Job) && (len(d.Nodes) == 0 || isCut(w.Scene, d))
	}) {
		return "" // until its job has left the door, perhaps for another one over the same nodes
	}
	if superfluous(w.Scene, r) {
		return "its nodes have machines of other groups"
	}
	shared := r.Group.Stamp.Shared()
	var serves []*Claim
	var unwanted []string
	for _, name := range slices.Sorted(slices.Values(r.Request.Instances)) {
		m := w.Node(name)
		var c *Claim
		if m != nil {
			c = w.ClaimOf(m)
		}
		switch {
		case m == nil && w.IsOrphaned(name) && w.IsOld(r.Request.Created, scene.OrphanedAfter):
			return "the configuration knows no node " + name
		case m == nil || m.Power == scene.Unclear || m.Power == scene.On, c == nil && m.Doubted:
			continue
		case m.Power == scene.Off && len(m.Holders) > 0:
			continue // a job has just been allocated the node, or is leaving it
		case shared && w.Handed.kept[m]:
			continue // another job gets its machine
		case shared && w.Handed.isWanted(name), w.Handed.wants(name, r.Group.Stamp.Job):
			continue // a job gets a door over it
		case keepsFor(w.Scene, m, r):
			continue // Slurm may plan the changed job there again
		case m.Changed != nil && c == nil && !shared:
			return cmp.Or(w.ends[m.Changed], changedJob)
		case shared && (m.Power == scene.Off || c == nil && !m.State.Held()):
			unwanted = append(unwanted, name)
			continue
		case m.Power == scene.Off:
			return "node " + name + " is powered down"
		case c == nil && m.State.Held():
			continue // a job is arriving or leaving: the next pass will have a clear state
		case c == nil && w.ends[m.Door] != "":
			return w.ends[m.Door]
		case c == nil:
			return "no job wants node " + name + " any more"
		case !shared && len(serves) > 0 && serves[0] != c:
			return fmt.Sprintf("its nodes belong to %s and %s now", serves[0].Group, c.Group)
		}
		if !slices.Contains(serves, c) {
			serves = append(serves, c)
		}
	}
	if shared && 2*len(unwanted) > len(r.Request.Instances) {
		return fmt.Sprintf("no job wants %s any more", action.Counted(unwanted))
	}
	for _, c := range serves {
		if c.Live == nil && w.lacks(r, c) != "" && w.AnyDoubted(r.Request.Instances) {
			return "" // the request may serve the unreadable job
		}
		if why := w.fails(r, c); why != "" {
			return why
		}
	}
	for _, c := range serves {
		c.Live = &r
	}
	return ""
}

// keepsFor reports whether the request is kept although its job was changed: until the
// start of the job's door, which no pass moves any more.
func keepsFor(s *scene.Scene, m *scene.Node, r scene.Live) bool {
	d := m.Changed
	return d != nil && !d.Opened && scene.IsFor(r.Group.Stamp, d.Job) && isKept(s, d)
}

// fails returns why the request cannot serve the claim; empty if it can.
func (w *Wanted) fails(r scene.Live, c *Claim) string {
	if c.Live != nil {
		return fmt.Sprintf("%s/%s asks for the same nodes", c.Live.Group.Name, c.Live.Request.Name)
	}
	if name := w.lacks(r, c); name != "" {
		return fmt.Sprintf("it does not bring node %s of %s", name, c.Group)
	}
	if isShort(r, c) && !isEnough(w.Scene, r, c) {
		return fmt.Sprintf("its lease of %s is shorter than the %s that %s needs",
			slurm.Clock(r.Request.Duration), slurm.Clock(c.Lease), c.Group)
	}
	return ""
}

// lacks returns a node of the claim that lacks a machine and that the request does not name; empty
// if there is no such node.
func (w *Wanted) lacks(r scene.Live, c *Claim) string {
	for _, name := range c.Nodes {
		if stays, _ := w.Named(name).Stays(); !stays && !r.Request.Names(name) && !isUnsized(w.Scene, c.Set) {
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
func isEnough(s *scene.Scene, r scene.Live, c *Claim) bool {
	asked, made := r.Request.Duration, r.Group.Stamp
	return c.Job == nil || !made.ForJobs() || s.AnyDoubted(c.Nodes) || slices.ContainsFunc(c.Holders, func(j *slurm.Job) bool {
		fits := scene.IsFor(made, j) && j.Limit.Kind == slurm.LimitSet && j.Limit.Duration <= asked
		return j.State != slurm.JobCompleting && (fits || scene.Lease(c.Set.Flex, []*slurm.Job{j}) <= asked)
	})
}

// superfluous reports whether every instance that the request names already exists in another
// group.
func superfluous(s *scene.Scene, r scene.Live) bool {
	for _, name := range r.Request.Instances {
		elsewhere := slices.ContainsFunc(s.Named(name).Machines, func(in scene.Machine) bool {
			return !in.Leaving() && in.Group != r.Group.Name && !s.IsNew(in, r) && in.Unread == ""
		})
		if !elsewhere {
			return false
		}
	}
	return len(r.Request.Instances) > 0
}

package plan

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"slurmflex/mig"
	"slurmflex/slurm"
)

// settleRequests gives each live request to the cohort that it serves, and
// cancels those that serve none. A request is all or nothing, so one node that
// nobody wants makes the whole of it wrong; a node of the configuration that Slurm
// does not show, or shows in a state that we do not understand, never does.
func (w *world) settleRequests() {
	for _, r := range w.liveRequests() {
		why := w.misfit(r)
		switch {
		case why == "" && r.request.State == mig.Creating:
			w.expect(fmt.Sprintf("request %s/%s to be accepted", r.group.Name, r.request.Name))
		case why == "":
		case r.request.State == mig.Creating:
			w.expect(fmt.Sprintf("request %s/%s to leave CREATING, then to be cancelled: %s",
				r.group.Name, r.request.Name, why))
		default:
			w.add(CancelRequest{
				Region: r.group.Region, Group: r.group.Name, Request: r.request.Name, Job: r.group.Stamp.Job, Why: Why(why),
			})
			w.expect(fmt.Sprintf("request %s/%s to be cancelled", r.group.Name, r.request.Name))
		}
	}
}

// misfit says why a live request must go; empty if it is to stay. A request
// that stays is noted in the cohort that it serves.
func (w *world) misfit(r ref) string {
	if len(r.request.Instances) == 0 {
		if r.request.Count > 0 && w.isOld(r.request.Created, strandedAfter) {
			return "it asks for a number of instances and names none, so that no node can be theirs"
		}
		return ""
	}
	if w.superfluous(r) {
		return "its nodes have machines of other groups"
	}
	var serves *cohort
	for _, name := range slices.Sorted(slices.Values(r.request.Instances)) {
		m := w.nodes[name]
		switch {
		case m == nil && w.isStranded(name) && w.isOld(r.request.Created, strandedAfter):
			return "the configuration knows no node " + name
		case m == nil || m.power == unclear || m.power == up, m.cohort == nil && m.doubted:
			continue
		case m.power == down && len(m.jobs) > 0:
			continue // a job has just been given it, or is leaving
		case m.power == down:
			return "node " + name + " is powered down"
		case m.cohort == nil && m.State.Held():
			continue // a job is coming or going: the next round will see clearly
		case m.cohort == nil:
			return "no job wants node " + name + " any more"
		case serves != nil && serves != m.cohort:
			return fmt.Sprintf("its nodes belong to %s and %s now", serves.group, m.cohort.group)
		}
		serves = m.cohort
	}
	if serves == nil {
		return ""
	}
	if serves.live != nil {
		return fmt.Sprintf("%s/%s asks for the same nodes", serves.live.group.Name, serves.live.request.Name)
	}
	for _, name := range serves.nodes {
		if stays, _ := w.machine(name); !stays && !r.request.Names(name) && !w.isUnsized(serves.set) {
			return fmt.Sprintf("it does not bring node %s of %s", name, serves.group)
		}
	}
	if asked := r.request.Duration; asked > 0 && asked < serves.lease && !w.isEnough(r, serves) {
		return fmt.Sprintf("its lease of %s is shorter than the %s that %s needs",
			clock(asked), clock(serves.lease), serves.group)
	}
	serves.live = &r
	return ""
}

// isEnough reports whether the request's lease is long enough for any of the jobs
// that wait for the nodes: a job that Slurm adds to them takes from no other its
// place in Google's queue. For the job that it was made for the time limit alone
// counts, so that it keeps its lease when only what the configuration adds has
// grown. What was asked for without a job is nobody's to cancel.
func (w *world) isEnough(r ref, c *cohort) bool {
	asked, made := r.request.Duration, r.group.Stamp.Job
	return c.job == nil || made == 0 || slices.ContainsFunc(w.holders(c.nodes), func(j *slurm.Job) bool {
		fits := j.ID == made && j.Limit.Kind == slurm.LimitSet && j.Limit.Duration <= asked
		return j.State != slurm.JobCompleting && (fits || lease(c.set.Flex, []*slurm.Job{j}) <= asked)
	})
}

// superfluous reports whether every instance that the request asks for is there
// already, by another group.
func (w *world) superfluous(r ref) bool {
	for _, name := range r.request.Instances {
		elsewhere := slices.ContainsFunc(w.instances[name], func(in machine) bool {
			return !in.Leaving() && in.Group != r.group.Name && !w.isNew(in, r) && in.Unread == ""
		})
		if !elsewhere {
			return false
		}
	}
	return len(r.request.Instances) > 0
}

// isNew reports whether the instance may be what the request brings: it is younger,
// and no group of ours that counts it says that it has made it. An instance may show
// before its maker does.
func (w *world) isNew(in machine, r ref) bool {
	if in.group != nil {
		n, _ := w.hidden(in.group)
		return n < 0 // it shows more instances than it counts
	}
	return !w.ours(in) && !in.Created.Before(r.request.Created) && !w.isOld(in.Created, lostAfter)
}

// liveRequests returns every live request, the oldest first.
func (w *world) liveRequests() []ref {
	var live []ref
	for _, g := range w.groups {
		for i := range g.Requests {
			if r := &g.Requests[i]; r.State.Live() {
				live = append(live, ref{g, r})
			}
		}
	}
	slices.SortFunc(live, func(a, b ref) int {
		return cmp.Or(a.request.Created.Compare(b.request.Created),
			cmp.Compare(a.group.Region, b.group.Region), cmp.Compare(a.group.Name, b.group.Name), cmp.Compare(a.request.Name, b.request.Name))
	})
	return live
}

// judge decides which nodes of a cohort are to be asked for, and whether they may
// be. All cohorts are judged before any is served: one that is given up may take
// nodes of others with it.
func (w *world) judge(c *cohort) {
	if w.unseen(c.set.Region) {
		c.pause = unreadText(c.set.Region, w.snap.Unseen[c.set.Region])
		return
	}
	if what := cmp.Or(w.unreadOf(c), w.unshownOf(c)); what != "" {
		c.pause = what
		return
	}
	if stranger := w.stranger(c); stranger != "" {
		c.obstacle = stranger
		w.problem(c.group + ": " + stranger)
		return
	}
	c.missing = w.missing(c)
	if slices.ContainsFunc(c.missing, func(name string) bool { return w.snap.Asking[name] }) {
		w.countActive(c.set.Region, c.set.Name) // its request is as good as made
		w.awaits(c, "the request of "+c.group+" to be made")
		return
	}
	if len(c.missing) > 0 && !w.isGiven(c) {
		c.mayAsk = !w.isBlocked(c) && w.templateFits(c) && w.placementFits(c) && w.mayAsk(c, w.groups[c.set.Region+"/"+c.group]) && !w.goesLast(c)
	}
}

// awaits expects what has to come first before anything is requested for the cohort.
func (w *world) awaits(c *cohort, what string) {
	c.pause = "waiting for " + what
	w.expect(what)
}

// stranger names an instance that is not ours and has the name of one of the
// cohort's nodes; empty if there is none. Nothing is requested while it is there:
// it is not ours to delete, and may yet register with Slurm.
func (w *world) stranger(c *cohort) string {
	for _, name := range c.nodes {
		for _, in := range w.instances[name] {
			if w.ours(in) || w.mayShow[name] || slices.ContainsFunc(w.requests[name], func(r ref) bool { return w.isNew(in, r) }) {
				continue
			}
			what := "slurmflex did not create it"
			switch {
			case w.isNewers(in):
				return fmt.Sprintf("instance %s in %s is left alone: a newer slurmflex has made it; run that version, or delete the instance", name, in.Zone)
			case strings.HasPrefix(in.Group, w.cfg.Cluster+"-"):
				what = "its group " + in.Group + " is not listed as one of this cluster"
			}
			return fmt.Sprintf("instance %s in %s has the name of a node that waits, and %s; unless it joins Slurm by itself, delete it", name, in.Zone, what)
		}
	}
	return ""
}

// isNewers reports whether a group that a newer slurmflex has made for this cluster
// has made the instance.
func (w *world) isNewers(in machine) bool {
	return slices.ContainsFunc(w.snap.Groups, func(g mig.Group) bool {
		return g.Name == in.Group && g.Region == in.Region && g.Stamp.Cluster == w.cfg.Cluster && g.Stamp.Newer()
	})
}

// isGiven reports whether the plan gives the cohort's job back.
func (w *world) isGiven(c *cohort) bool { return c.job != nil && w.given[c.job.ID] }

// serve asks for the nodes of a cohort that nothing brings yet.
func (w *world) serve(c *cohort) {
	if !c.mayAsk || w.isGiven(c) || slices.ContainsFunc(c.missing, func(n string) bool { return w.changed[n] }) {
		return
	}
	group := w.groups[c.set.Region+"/"+c.group]
	if c.set.Flex.UseBulkInsert {
		w.insert(c, c.missing)
		return
	}
	if !w.takesTurn(c) {
		return
	}
	var record []mig.Request
	if group != nil {
		record = group.Requests
	} else {
		w.createGroup(c)
	}
	w.add(CreateRequest{
		Region: c.set.Region, Group: c.group, Job: c.stamp.Job,
		Spec: mig.RequestSpec{Name: nextAttempt(record), Instances: c.missing, Duration: c.lease},
		Why:  c.why(),
	})
	w.expect("request for " + c.group + " to be accepted")
}

// missing returns the cohort's nodes that neither have an instance nor are
// asked for, or none while an old instance or request of the same name is
// still in the way: they are asked for together once it has gone.
func (w *world) missing(c *cohort) []string {
	if g := w.groups[c.set.Region+"/"+c.group]; g != nil && w.isAhead(g) {
		w.awaits(c, "the request of "+c.group+" to show")
		return nil
	}
	var missing []string
	for _, name := range c.nodes {
		stays, leaves := w.machine(name)
		switch {
		case stays && !w.hasMachine(name):
			w.awaits(c, "the instance of "+name+" to show who made it")
			continue
		case stays:
			continue
		case leaves:
			w.awaits(c, "the old instance of "+name+" to be gone")
			return nil
		case c.live != nil && c.live.request.Names(name):
			continue
		case len(w.requests[name]) > 0:
			w.awaits(c, "another request for "+name+" to be cancelled")
			return nil
		case w.mayShow[name] || w.snap.Inserted[name]:
			w.awaits(c, "the instance of "+name+" to show")
			return nil
		}
		missing = append(missing, name)
	}
	return missing
}

func (c *cohort) why() Why {
	if c.job != nil {
		return Why(fmt.Sprintf("job %s waits for %s", c.job.Name(), slurm.Fold(c.nodes)))
	}
	return Why("node " + slurm.Fold(c.nodes) + " is powering up")
}

package plan

import (
	"fmt"
	"slices"

	"slurmflex/slurm"
)

// settled is a live request, and why it is to be cancelled; empty if it stays.
type settled struct {
	ref
	misfit string
}

// settleRequests gives each live request to the cohort that it serves, and says why
// one that serves none must go. A request is all or nothing, so one node that nobody
// wants makes the whole of it wrong; a node of the configuration that Slurm does not
// show, or shows in a state that we do not understand, never does. Those whose lease is
// long enough for all jobs of their nodes come first, and then the older ones.
func (w *wanted) settleRequests() {
	var short []ref
	for _, r := range w.liveRequests() {
		if slices.ContainsFunc(r.request.Instances, func(name string) bool {
			m := w.nodes[name]
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

// isShort reports whether the request's lease is shorter than the cohort needs.
func isShort(r ref, c *cohort) bool {
	return r.request.Duration > 0 && r.request.Duration < c.lease
}

// misfit says why a live request must go; empty if it is to stay. A request
// that stays is noted in the cohort that it serves.
func (w *wanted) misfit(r ref) string {
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
		var c *cohort
		if m != nil {
			c = w.cohortOf(m)
		}
		switch {
		case m == nil && w.isStranded(name) && w.isOld(r.request.Created, strandedAfter):
			return "the configuration knows no node " + name
		case m == nil || m.power == unclear || m.power == up, c == nil && m.doubted:
			continue
		case m.power == down && len(m.jobs) > 0:
			continue // a job has just been given it, or is leaving
		case m.power == down:
			return "node " + name + " is powered down"
		case c == nil && m.State.Held():
			continue // a job is coming or going: the next pass will see clearly
		case c == nil:
			return "no job wants node " + name + " any more"
		case serves != nil && serves != c:
			return fmt.Sprintf("its nodes belong to %s and %s now", serves.group, c.group)
		}
		serves = c
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
	if isShort(r, serves) && !w.isEnough(r, serves) {
		return fmt.Sprintf("its lease of %s is shorter than the %s that %s needs",
			clock(r.request.Duration), clock(serves.lease), serves.group)
	}
	serves.live = &r
	return ""
}

// isEnough reports whether the request's lease is long enough for any of the jobs
// that wait for the nodes: a job that Slurm adds to them takes from no other its
// place in Google's queue. For the job that it was made for the time limit alone
// counts, so that it keeps its lease when only what the configuration adds has
// grown. What was asked for without a job is nobody's to cancel, nor is what a job may
// wait for that could not be read.
func (s *scene) isEnough(r ref, c *cohort) bool {
	asked, made := r.request.Duration, r.group.Stamp.Job
	unread := func(name string) bool { return s.nodes[name].doubted }
	return c.job == nil || made == 0 || slices.ContainsFunc(c.nodes, unread) || slices.ContainsFunc(s.holders(c.nodes), func(j *slurm.Job) bool {
		fits := j.ID == made && j.Limit.Kind == slurm.LimitSet && j.Limit.Duration <= asked
		return j.State != slurm.JobCompleting && (fits || lease(c.set.Flex, []*slurm.Job{j}) <= asked)
	})
}

// superfluous reports whether every instance that the request asks for is there
// already, by another group.
func (s *scene) superfluous(r ref) bool {
	for _, name := range r.request.Instances {
		elsewhere := slices.ContainsFunc(s.instances[name], func(in machine) bool {
			return !in.Leaving() && in.Group != r.group.Name && !s.isNew(in, r) && in.Unread == ""
		})
		if !elsewhere {
			return false
		}
	}
	return len(r.request.Instances) > 0
}

package plan_test

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"pgregory.net/rapid"

	"slurmflex/flex/plan"
	"slurmflex/flex/plan/action"
	"slurmflex/flex/plan/memo"
	"slurmflex/mig"
	"slurmflex/slurm"
)

// theArray is the ID of the array whose tasks share requests.
const theArray = 50

// joinSharers makes all jobs tasks of one array, or jobs of one user. It merges the groups of jobs
// with one node of a3 into one shared group, and at times their waiting requests into one request.
// Other waiting jobs also get a request.
func (w *world) joinSharers(t *rapid.T) {
	waiting := w.drawTasks(t)
	of := pick(t, "shared by", mig.Sharers(theArray, "ann"), mig.Sharers(0, "ann"))
	shared := mig.Group{Name: memo.SharedGroup(cluster, "a3", of.Array, of.User, 0), Region: america, Created: drawAge(t)}
	shared.Stamp = mig.Stamp{Version: mig.StampVersion, Cluster: cluster, NodeSet: "a3", Array: of.Array, User: of.User}
	for _, j := range inOrder(w.jobs) {
		j.User = "ann"
		if of.Array != 0 {
			j.ArrayID, j.ArrayTask = theArray, strconv.Itoa(int(j.ID))
		}
		w.jobs[j.ID] = j
		own := w.groups[america+"/"+memo.JobGroup(cluster, "a3", j.ID, 0)]
		if own.Name == "" || len(j.Nodes) != 1 {
			continue
		}
		delete(w.groups, own.Region+"/"+own.Name)
		shared.Requests = append(shared.Requests, own.Requests...)
		shared.TargetSize, shared.Creating = shared.TargetSize+own.TargetSize, shared.Creating+own.Creating
		for key, in := range w.instances {
			if in.Group == own.Name && in.Region == own.Region {
				in.Group = shared.Name
				w.instances[key] = in
			}
		}
	}
	if len(waiting) > 0 && rapid.Bool().Draw(t, "jobs are requested") {
		shared.Requests = append(shared.Requests, mig.Request{
			State: pick(t, "shared request", mig.Accepted, mig.Accepted, mig.Creating), Instances: distinct(t, "requested", 4, waiting),
			Duration: pick(t, "shared for", mig.MinDuration, 12*time.Hour, mig.MaxDuration), Created: drawAge(t),
		})
	}
	slices.SortStableFunc(shared.Requests, func(a, b mig.Request) int { return a.Created.Compare(b.Created) })
	if rapid.Bool().Draw(t, "in one request") {
		shared.Requests = merged(shared.Requests)
	}
	for i := range shared.Requests {
		shared.Requests[i].Name = fmt.Sprint("a", i+1)
	}
	w.groups[america+"/"+shared.Name] = shared
}

// drawTasks adds jobs of one node each that wait for the node, and returns the nodes.
func (w *world) drawTasks(t *rapid.T) (names []string) {
	set := w.flexSets()[0]
	for i := range set.Size() {
		name := set.NodeName(cluster, i)
		if _, known := w.nodes[name]; known || rarely(t, "no task") {
			continue
		}
		id := uint32(len(w.jobs) + 1)
		w.nodes[name] = slurm.Node{Name: name, State: slurm.ParseState("ALLOCATED+CLOUD+NOT_RESPONDING+POWERING_UP")}
		w.jobs[id] = slurm.Job{
			ID: id, Nodes: []string{name}, State: slurm.JobConfiguring, Partition: "train",
			Limit: slurm.ParseLimit(pick(t, "task's limit", "12:00:00", "5:00", "UNLIMITED")), Start: noon.Add(-time.Minute),
		}
		names = append(names, name)
	}
	return names
}

// merged combines requests in the same state into one.
func merged(requests []mig.Request) (some []mig.Request) {
	for _, r := range requests {
		at := slices.IndexFunc(some, func(s mig.Request) bool { return s.State == r.State })
		if at < 0 {
			some = append(some, r)
			continue
		}
		for _, name := range r.Instances {
			if !some[at].Names(name) {
				some[at].Instances = append(slices.Clone(some[at].Instances), name)
			}
		}
	}
	return some
}

// overtakesNobody: a job that shares a request of this plan is more important than the jobs of other
// users that wait for a place in the region, or is the most important job of the request.
func overtakesNobody(s *sight, p plan.Plan) (wrong []string) {
	for _, a := range p.Actions {
		r, ok := a.(action.CreateRequest)
		if !ok || !r.Shared {
			continue
		}
		var jobs []slurm.Job
		for _, w := range p.Waits { // the most important first
			if w.Region == r.Group.Region && slices.ContainsFunc(w.Nodes, func(name string) bool { return slices.Contains(r.Spec.Instances, name) }) {
				jobs = append(jobs, s.job(w.Job))
			}
		}
		for _, w := range p.Waits {
			waits, ofUser := waitsForTurn(w)
			job := s.job(w.Job)
			for i, other := range jobs {
				if waits && !ofUser && i > 0 && w.Region == r.Group.Region && job.User != other.User && job.Priority > other.Priority {
					wrong = append(wrong, fmt.Sprintf("%s: job %d of %s, which is less important than job %d of %s", r, other.ID, other.User, job.ID, job.User))
				}
			}
		}
	}
	return wrong
}

// sharesAmongEquals: a shared request has at most share_requests machines, each for a one-node task
// of the same array or for a one-node job of the same user, and its lease is what each of the jobs
// needs.
func sharesAmongEquals(s *sight, p plan.Plan) (wrong []string) {
	for _, a := range p.Actions {
		r, ok := a.(action.CreateRequest)
		if !ok || !r.Shared {
			continue
		}
		for _, name := range r.Spec.Instances {
			set, _, _ := s.cfg.Find(name)
			if len(r.Spec.Instances) > set.Flex.ShareRequests {
				wrong = append(wrong, fmt.Sprintf("%s: %d machines, and share_requests is %d", r, len(r.Spec.Instances), set.Flex.ShareRequests))
			}
			var needs time.Duration
			sharers := 0
			for _, j := range s.jobs[name] {
				if !holdsNodes(j.State) {
					continue
				}
				need := set.Flex.MaxRunDuration
				if j.Limit.Kind == slurm.LimitSet && set.Flex.UseJobDuration {
					need = min(max(j.Limit.Duration+set.Flex.JobDurationMargin, mig.MinDuration), need)
				}
				needs = max(needs, need)
				of := mig.Sharers(j.Array(), j.User)
				if memo.Replaced(r.Group.Name) == memo.SharedGroup(cluster, set.Name, of.Array, of.User, 0) && len(j.Nodes) == 1 {
					sharers++
				}
			}
			if sharers == 0 || needs != r.Spec.Duration {
				wrong = append(wrong, fmt.Sprintf("%s: %s has %d jobs that may share, which need %s", r, name, sharers, needs))
			}
		}
	}
	return wrong
}

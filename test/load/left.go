package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"slurmflex/slurm"
	"slurmflex/test/fakegce"
	"slurmflex/test/must"
)

// left returns what keeps the world from being at rest: a job, a dynamic node that is up, a static
// node that is down, or a cloud resource without an owner. It is empty at rest.
func (l *life) left(ctx context.Context) string {
	if jobs := must.Get(l.slurm.Jobs(ctx)); len(jobs) > 0 {
		j := jobs[0]
		return fmt.Sprintf("job %d is %s (%s) on %s", j.ID, j.State, j.Reason, slurm.Fold(j.Nodes))
	}
	for _, n := range must.Get(l.slurm.Nodes(ctx)) {
		up := !n.State.Has(slurm.PoweredDown) && !n.State.Has(slurm.PoweringDown) && !n.State.Has(slurm.PoweringUp)
		if l.static[n.Name] != up || !up && !n.State.Has(slurm.PoweredDown) {
			return fmt.Sprintf("node %s is %s (%s)", n.Name, n.State, n.Reason)
		}
	}
	for _, r := range must.Get(l.slurm.Reservations(ctx)) {
		if !slices.ContainsFunc(r.Nodes, l.isStatic) {
			return "reservation " + r.Name + " is there"
		}
	}
	return l.leftInCloud(l.cloud.State())
}

// leftInCloud returns the cloud resources that do not belong to a static node.
func (l *life) leftInCloud(st fakegce.State) string {
	for _, in := range st.Instances {
		if !l.static[in.Name] {
			return fmt.Sprintf("machine %s is %s", in.Name, in.Status)
		}
	}
	for _, g := range st.Groups {
		serves := func(r fakegce.Request) bool { return slices.ContainsFunc(r.Instances, l.isStatic) }
		if !slices.ContainsFunc(g.Requests, serves) {
			return "group " + g.Name + " is there"
		}
	}
	if len(st.Policies) > 0 {
		return "policy " + st.Policies[0] + " is there"
	}
	return ""
}

func (l *life) isStatic(node string) bool { return l.static[node] }

// waiting returns the requests that wait for capacity.
func (l *life) waiting() (all []request) {
	for _, g := range l.cloud.State().Groups {
		for _, r := range g.Requests {
			if r.State == "ACCEPTED" {
				all = append(all, request{g.Name, r.Name})
			}
		}
	}
	return all
}

// request names a resize request.
type request struct{ group, name string }

// machines returns the names of the running machines, sorted.
func (l *life) machines() []string {
	names := map[string]bool{}
	for _, in := range l.cloud.State().Instances {
		if in.Status == "RUNNING" {
			names[in.Name] = true
		}
	}
	return slices.Sorted(maps.Keys(names))
}

// release releases the held jobs, as an admin does now and then.
func (l *life) release(ctx context.Context) {
	for _, j := range must.Get(l.slurm.Jobs(ctx)) {
		if j.State == slurm.JobPending && strings.Contains(strings.ToLower(j.Reason), "held") {
			must.Do(l.slurm.Release(j.ID))
		}
	}
}

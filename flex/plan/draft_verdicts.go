package plan

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"slurmflex/flex/plan/action"
	"slurmflex/flex/plan/memo"
	"slurmflex/flex/plan/scene"
	"slurmflex/mig"
	"slurmflex/slurm"
)

// carryOut plans the actions of the verdicts: first it returns jobs to Slurm, then it requests
// machines.
func (d *draft) carryOut(w *wanted, verdicts []verdict) {
	for _, v := range verdicts {
		d.report(v.problems)
		d.expect(v.expect...)
		switch v.do {
		case goesBack:
			for _, name := range v.back.Nodes {
				d.claims[name] = "return"
			}
			for _, id := range append([]uint32{v.back.Job}, v.back.Others...) {
				d.heard[id] = true
			}
			d.add(*v.back)
			d.expect(fmt.Sprintf("nodes of job %s to be returned", v.back.Name))
		case powersDown:
			d.setNodes(w.scene, "return", action.SetNodes{
				Nodes: v.cohort.nodes, State: "power_down_force", Reason: memo.ReasonPrefix + v.why,
				Why: action.Why(fmt.Sprintf("%s: %s", v.cohort.group, v.why)),
			})
		}
	}
	for _, v := range verdicts {
		switch c := v.cohort; {
		case v.yields != nil:
			d.yields(v)
		case v.do == requests && c.set.Flex.UseBulkInsert:
			d.insert(w, c)
		case v.do == requests && !v.joins:
			d.request(w, v)
		}
	}
}

// yields makes a request yield its queue position, once for all cohorts that it serves. notify
// writes to their jobs first.
func (d *draft) yields(v verdict) {
	r := *v.yields
	for _, j := range v.cohort.holders {
		d.before[j.ID] = r.Group.ID().String()
	}
	if !slices.Contains(d.yielded, r) {
		d.yielded = append(d.yielded, r)
	}
}

// request requests those nodes of a cohort, and of the cohorts that join it, that lack both a
// machine and a request.
func (d *draft) request(w *wanted, v verdict) {
	c := v.cohort
	record, missing, why := slices.Clone(d.names[c.id()]), c.missing, c.why()
	if len(v.with) > 0 {
		missing = slices.Clone(c.missing)
		for _, other := range v.with {
			missing = append(missing, other.missing...)
		}
		slices.SortFunc(missing, func(a, b string) int { return w.scene.Node(a).At - w.scene.Node(b).At })
		whose := "jobs of " + c.job.User
		if c.stamp.Array != 0 {
			whose = fmt.Sprintf("tasks of array %d", c.stamp.Array)
		}
		why = action.Why(fmt.Sprintf("%d %s wait for %s", len(v.with)+1, whose, slurm.Fold(missing)))
	}
	group := w.scene.Group(c.id())
	if group != nil {
		for _, r := range group.Requests {
			record = append(record, r.Name)
		}
	} else {
		d.createGroup(w, c)
	}
	spec := mig.RequestSpec{Name: memo.NextAttempt(record), Instances: missing, Duration: c.lease}
	d.names[c.id()] = append(d.names[c.id()], spec.Name)
	d.add(action.CreateRequest{Of: c.of(), Spec: spec, Shared: c.shares(), Apart: c.shares() && group != nil, Why: why})
	d.expect("request for " + c.group + " to be accepted")
}

// createGroup plans the cohort's group, preceded by the workload policy if the group needs one.
func (d *draft) createGroup(w *wanted, c *cohort) {
	spec := mig.GroupSpec{Name: c.group, Region: c.set.Region, Template: c.set.Template, Zones: c.zones, Stamp: c.stamp}
	if c.set.Placement {
		spec.Policy = cmp.Or(c.policy, c.group)
		exists := slices.ContainsFunc(w.scene.Seen.Policies, func(p mig.Policy) bool {
			return p.Region == c.set.Region && p.Name == spec.Policy
		})
		if !exists {
			_, distance, _ := placement(w.scene, c.set)
			d.add(action.CreatePolicy{Of: c.of(), Spec: mig.PolicySpec{
				Name: spec.Policy, Region: c.set.Region, Distance: distance, Stamp: c.stamp,
			}, Why: c.why()})
		}
	}
	d.add(action.CreateGroup{Of: c.of(), Spec: spec, Why: c.why()})
}

// insert requests a cohort's nodes without a group, by bulk insert.
func (d *draft) insert(w *wanted, c *cohort) {
	d.add(action.BulkInsert{Of: c.of(), Spec: mig.BulkSpec{
		Region: c.set.Region, Zones: c.set.Zones, Template: w.scene.Seen.Templates[c.set.Template].Template,
		Instances: c.missing, Model: c.set.Flex.Capacity.Model(), Reservation: c.set.Flex.Reservation, Duration: c.lease,
		Stamp: c.stamp, Occasion: occasion(w.scene, c, c.missing),
	}, Why: c.why()})
	d.expect("the instances of " + c.group + " to be made")
}

// occasionAge is how long repeated calls count as the same attempt. It is longer than Compute's
// lists lag, and short enough that lost machines can soon be requested again.
const occasionAge = 10 * time.Minute

// occasion returns a name for an attempt to create a job's machines. If the process that made the
// attempt has died, another process derives the same name and so creates no second set of machines.
// The name is empty for nodes without a job, because nothing distinguishes their attempts.
func occasion(s *scene.Scene, c *cohort, missing []string) string {
	if c.job == nil || c.job.Start.IsZero() {
		return ""
	}
	failures, _, _ := failures(s, c, nil)
	failures = max(failures, memo.ParseFailed(s.Seen.Told[c.job.ID])) // another process may have counted more
	return fmt.Sprintf("%s of %d for %s, %d failures, %d", c.group, c.job.Start.Unix(), slurm.Fold(missing),
		failures, s.Seen.Now.Sub(c.job.Start)/occasionAge)
}

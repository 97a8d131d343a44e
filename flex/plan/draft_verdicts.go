package plan

import (
	"cmp"
	"fmt"
	"slices"

	"slurmflex/flex/plan/action"
	"slurmflex/flex/plan/demand"
	"slurmflex/flex/plan/memo"
	"slurmflex/flex/plan/rules"
	"slurmflex/flex/plan/scene"
	"slurmflex/mig"
	"slurmflex/slurm"
)

// carryOut plans the actions of the verdicts: first it returns jobs to Slurm, then it requests
// machines.
func (d *draft) carryOut(w *demand.Wanted, verdicts []rules.Verdict) {
	for _, v := range verdicts {
		d.report(v.Problems)
		d.plan.Soon = d.plan.Soon || v.Soon || v.Do == rules.Returns
		switch v.Do {
		case rules.Returns:
			for _, name := range v.Return.Nodes {
				d.changed[name] = true
			}
			for _, id := range append([]uint32{v.Return.Job}, v.Return.Others...) {
				d.heard[id] = true
			}
			d.add(*v.Return)
		case rules.PowersDown:
			d.setNodes(action.SetNodes{
				Nodes: v.Claim.Nodes, State: "power_down_force", Reason: memo.ReasonPrefix + v.Why,
				Why: action.Why(fmt.Sprintf("%s: %s", v.Claim.Group, v.Why)),
			})
		}
	}
	for _, v := range verdicts {
		switch c := v.Claim; {
		case v.Yields != nil:
			d.yields(v)
		case v.Do == rules.Requests && c.Set.Flex.UseBulkInsert:
			d.insert(w, c)
		case v.Do == rules.Requests && !v.Joins:
			d.request(w, v)
		}
	}
}

// yields makes a request yield its queue position, once for all claims that it serves. notify
// writes to their jobs first.
func (d *draft) yields(v rules.Verdict) {
	r := *v.Yields
	for _, j := range v.Claim.Holders {
		d.before[j.ID] = r.Group.ID().String()
	}
	if !slices.Contains(d.yielded, r) {
		d.yielded = append(d.yielded, r)
	}
}

// request requests those nodes of a claim, and of the claims that join it, that lack both a
// machine and a request.
func (d *draft) request(w *demand.Wanted, v rules.Verdict) {
	c := v.Claim
	record, missing, why := slices.Clone(d.names[c.ID()]), c.Missing, c.Why()
	if len(v.With) > 0 {
		missing = slices.Clone(c.Missing)
		for _, other := range v.With {
			missing = append(missing, other.Missing...)
		}
		slices.SortFunc(missing, func(a, b string) int { return w.Node(a).At - w.Node(b).At })
		whose := "one-node jobs of one user" // everyone sees it, even if Slurm hides users
		if c.Stamp.Array != 0 {
			whose = fmt.Sprintf("tasks of array %d", c.Stamp.Array)
		}
		why = action.Why(fmt.Sprintf("%d %s wait for %s", len(v.With)+1, whose, slurm.Fold(missing)))
	}
	group := w.Group(c.ID()).Usable
	if group != nil {
		for _, r := range group.Requests {
			record = append(record, r.Name)
		}
	} else {
		d.createGroup(w, c)
	}
	spec := mig.RequestSpec{Name: memo.NextAttempt(record), Instances: missing, Duration: c.Lease}
	d.names[c.ID()] = append(d.names[c.ID()], spec.Name)
	d.add(action.CreateRequest{Of: c.Of(), Spec: spec, Shared: c.Shares(), Apart: c.Shares() && group != nil, Why: why})
	d.plan.Soon = true // the request is accepted
}

// createGroup plans the claim's group, preceded by the workload policy if the group needs one.
func (d *draft) createGroup(w *demand.Wanted, c *demand.Claim) {
	spec := mig.GroupSpec{Name: c.Group, Region: c.Set.Region, Template: c.Set.Template, Zones: c.Zones, Stamp: c.Stamp}
	if c.Set.Placement {
		spec.Policy = cmp.Or(c.Policy, c.Group)
		exists := slices.ContainsFunc(w.Seen.Policies, func(p mig.Policy) bool {
			return p.Region == c.Set.Region && p.Name == spec.Policy
		})
		if !exists {
			_, distance, _ := demand.Placement(w.Scene, c.Set)
			d.add(action.CreatePolicy{Of: c.Of(), Spec: mig.PolicySpec{
				Name: spec.Policy, Region: c.Set.Region, Distance: distance, Stamp: c.Stamp,
			}, Why: c.Why()})
		}
	}
	d.add(action.CreateGroup{Of: c.Of(), Spec: spec, Why: c.Why()})
}

// insert requests a claim's nodes without a group, by bulk insert.
func (d *draft) insert(w *demand.Wanted, c *demand.Claim) {
	name, failed := occasion(w.Scene, c, c.Missing)
	d.add(action.BulkInsert{Of: c.Of(), Spec: mig.BulkSpec{
		Region: c.Set.Region, Zones: insertZones(w.Scene, c), Template: w.Seen.Templates[c.Set.Template].Template,
		Instances: c.Missing, Model: c.Set.Flex.Capacity.Model(), Reservation: c.Set.Flex.Reservation, Duration: c.Lease,
		Stamp: c.Stamp, Occasion: name, Failed: failed,
	}, Why: c.Why()})
	d.plan.Soon = true // the instances are created
}

// insertZones returns the zones for a claim's bulk insert: if some machines of its job are already
// made, only their zone.
func insertZones(s *scene.Scene, c *demand.Claim) []string {
	for _, in := range c.Inserted(s) {
		if c.Stamp.Job != 0 && in.Region == c.Set.Region {
			return []string{in.Zone}
		}
	}
	return c.Set.Zones
}

// occasion returns a name for the creation of a job's machines, and how many attempts are known to
// have failed. Each process derives the same name for as long as the job has its nodes. So a process
// does not create machines that a call of a dead process is still creating.
func occasion(s *scene.Scene, c *demand.Claim, missing []string) (name string, failed int) {
	if c.Job == nil || c.Job.Start.IsZero() {
		return "", 0
	}
	failed = max(c.Refusal(s).Times, memo.ParseFailed(s.Seen.Told[c.Job.ID])) // another process may have counted more
	return fmt.Sprintf("%s of %d for %s", c.Group, c.Job.Start.Unix(), slurm.Fold(missing)), failed
}

package plan

import (
	"fmt"
	"slices"
	"time"

	"slurmflex/flex/plan/memo"
	"slurmflex/mig"
	"slurmflex/slurm"
)

// carryOut does what the verdicts say: first it gives jobs back, then it requests.
func (d *draft) carryOut(w *wanted, verdicts []verdict) {
	for _, v := range verdicts {
		d.report(v.problems)
		d.expect(v.expect...)
		for _, id := range v.warns {
			if !d.heard[id] {
				d.heard[id] = true
				d.add(WarnJob{OfJob{id}, Why(v.why)})
			}
		}
		switch v.do {
		case goesBack:
			for _, name := range v.back.Nodes {
				d.claims[name] = "return"
			}
			for _, id := range append([]uint32{v.back.Job}, v.back.Others...) {
				d.heard[id] = true
			}
			d.add(*v.back)
			d.expect(fmt.Sprintf("nodes of job %s to go back", v.back.Name))
		case powersDown:
			d.setNodes(w.scene, "return", SetNodes{
				Nodes: v.cohort.nodes, State: "power_down_force", Reason: memo.ReasonPrefix + v.why,
				Why: Why(fmt.Sprintf("%s: %s", v.cohort.group, v.why)),
			})
		}
	}
	for _, v := range verdicts {
		switch c := v.cohort; {
		case v.ousts != nil:
			d.cancelRequest(*v.ousts, fmt.Sprintf("all %d requests of %s are active, and nodeset %s has none, for which a more important job waits",
				w.cfg.Options.MaxActiveRequests, c.set.Region, c.set.Name))
		case v.do == requests && c.set.Flex.UseBulkInsert:
			d.insert(w, c)
		case v.do == requests:
			d.request(w, c)
		}
	}
}

// request requests the nodes of a cohort that nothing brings yet.
func (d *draft) request(w *wanted, c *cohort) {
	var record []string
	if group := w.groups[c.id()]; group != nil {
		for _, r := range group.Requests {
			record = append(record, r.Name)
		}
	} else {
		d.createGroup(w, c)
	}
	d.add(CreateRequest{
		Of:   c.of(),
		Spec: mig.RequestSpec{Name: memo.NextAttempt(record), Instances: c.missing, Duration: c.lease},
		Why:  c.why(),
	})
	d.expect("request for " + c.group + " to be accepted")
}

// createGroup plans the cohort's group, and before it the policy that it needs.
func (d *draft) createGroup(w *wanted, c *cohort) {
	spec := mig.GroupSpec{Name: c.group, Region: c.set.Region, Template: c.set.Template, Zones: c.set.Zones, Stamp: c.stamp}
	if c.set.Placement {
		spec.Policy = c.group
		exists := slices.ContainsFunc(w.snap.Policies, func(p mig.Policy) bool {
			return p.Region == c.set.Region && p.Name == c.group
		})
		if !exists {
			_, distance, _ := w.placement(c.set)
			d.add(CreatePolicy{Of: c.of(), Spec: mig.PolicySpec{
				Name: c.group, Region: c.set.Region, Distance: distance, Stamp: c.stamp,
			}, Why: c.why()})
		}
	}
	d.add(CreateGroup{Of: c.of(), Spec: spec, Why: c.why()})
}

// insert requests a cohort's nodes on the legacy path.
func (d *draft) insert(w *wanted, c *cohort) {
	d.add(BulkInsert{Of: c.of(), Spec: mig.BulkSpec{
		Region: c.set.Region, Zones: c.set.Zones, Template: w.snap.Templates[c.set.Template].Template,
		Instances: c.missing, Duration: c.lease, Stamp: c.stamp, Occasion: w.occasion(c, c.missing),
	}, Why: c.why()})
	d.expect("the instances of " + c.group + " to be made")
}

// occasionAge is for how long an attempt is taken for the same one: longer than
// lists lag, and not so long that machines which are lost could not be had again.
const occasionAge = 10 * time.Minute

// occasion names an attempt to get a job's nodes, so that a process which knows
// nothing of it, for the one that made it has died, makes no second machines.
// It is empty for nodes that no job waits for: nothing says their attempts apart.
func (s *scene) occasion(c *cohort, missing []string) string {
	if c.job == nil || c.job.Start.IsZero() {
		return ""
	}
	failures, _, _, _ := s.failures(c, nil)
	failures = max(failures, memo.ParseFailed(s.snap.Told[c.job.ID])) // another process may know of more
	return fmt.Sprintf("%s of %d for %s, %d failures, %d", c.group, c.job.Start.Unix(), slurm.Fold(missing),
		failures, s.snap.Now.Sub(c.job.Start)/occasionAge)
}

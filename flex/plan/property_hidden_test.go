package plan_test

import (
	"errors"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"slurmflex/flex/plan"
	"slurmflex/mig"
)

// B1, B4: lists lack machines of ours, or show them without their maker; their
// groups count them, and say so or nothing.
func TestNoMachineIsLostByAListThatLacksIt(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawWorld(t)
		snap := w.snapshot()
		truth := sightOf(w.cfg, snap)
		there := map[string][]mig.Instance{} // of ours, by region/group
		for _, in := range snap.Instances {
			if key := in.Region + "/" + in.Group; truth.hasGroup(in.Region, in.Group) && !in.Leaving() {
				there[key] = append(there[key], in)
			}
		}
		for i := range snap.Groups {
			g := &snap.Groups[i]
			g.TargetSize, g.Creating = len(there[g.Region+"/"+g.Name]), 0
			for _, r := range g.Live() {
				g.TargetSize, g.Creating = g.TargetSize+len(r.Instances), g.Creating+len(r.Instances)
			}
		}
		snap.Instances = hideSome(t, snap.Instances)
		snap.Members = map[mig.GroupID]plan.Members{}
		for _, g := range snap.Hidden(snap.Groups) {
			snap.Members[g.ID()] = drawMembers(t, there[g.Region+"/"+g.Name])
		}
		p := plan.Compute(w.cfg, snap)
		for _, a := range p.Actions {
			if a, ok := a.(plan.DeleteGroup); ok {
				for _, in := range there[a.Group.String()] {
					if truth.busy(in.Name, holdsNodes) {
						t.Fatalf("%s has instance %s, and a job has its node: %s\nin this world:\n%s", a.Group.Name, in.Name, a, told(w))
					}
				}
			}
		}
		for _, name := range asked(p) {
			for key, instances := range there {
				if slices.Contains(mig.Names(instances), name) {
					t.Fatalf("instance %s of %s is asked for again\nin this world:\n%s", name, key, told(w))
				}
			}
		}
	})
}

// hideSome are the instances without some, and some without their maker.
func hideSome(t *rapid.T, all []mig.Instance) (seen []mig.Instance) {
	for _, in := range all {
		switch upTo(t, "how it shows", 2) {
		case 1:
			continue
		case 2:
			in.Group = ""
		}
		seen = append(seen, in)
	}
	return seen
}

// drawMembers is what a group says of its instances.
func drawMembers(t *rapid.T, all []mig.Instance) (m plan.Members) {
	if rarely(t, "it does not say") {
		return plan.Members{Err: errors.New("503")}
	}
	for _, in := range all {
		m.All = append(m.All, mig.Member{Name: in.Name, Status: in.Status, Action: "NONE"})
	}
	return m
}

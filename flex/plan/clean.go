package plan

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"slurmflex/mig"
	"slurmflex/slurm"
)

// settled is how long ago a group's last request must have been made before a
// target size that no instance accounts for is taken for a remnant: what
// Compute does with the size when a lease runs out is not documented.
const settled = 10 * time.Minute

// deleteInstances deletes what stands behind nodes that Slurm has powered
// down: only instances of our own groups, and none that a job's node runs on.
func (w *world) deleteInstances() {
	for _, key := range slices.Sorted(maps.Keys(w.groups)) {
		var gone []mig.Instance
		for _, in := range w.inGroup[key] {
			m := w.nodes[in.Name]
			switch {
			case in.Leaving():
				w.expect("instance " + in.Name + " to be gone")
			case m != nil && m.power == down && len(m.jobs) == 0:
				gone = append(gone, in)
			}
		}
		if len(gone) == 0 {
			continue
		}
		slices.SortFunc(gone, func(a, b mig.Instance) int {
			return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Zone, b.Zone))
		})
		g := w.groups[key]
		w.add(DeleteInstances{
			Region: g.Region, Group: g.Name, Instances: gone,
			Why: Why("Slurm has powered down " + slurm.Fold(mig.Names(gone))),
		})
		w.expect("the instances of " + g.Name + " to be gone")
	}
}

// deleteGroups deletes our groups that hold nothing and that nobody needs.
func (w *world) deleteGroups(cohorts []*cohort) {
	wanted := map[string]bool{}
	for _, c := range cohorts {
		wanted[c.set.Region+"/"+c.group] = true
	}
	for _, key := range slices.Sorted(maps.Keys(w.groups)) {
		g := w.groups[key]
		if wanted[key] || len(g.Live()) > 0 || len(w.inGroup[key]) > 0 || !w.done(g) {
			continue
		}
		if g.TargetSize > 0 && w.snap.Now.Sub(lastAsked(g)) < settled {
			continue
		}
		w.add(DeleteGroup{Region: g.Region, Group: g.Name, Why: "it is empty and no job waits for it"})
	}
}

// done reports whether nobody needs an empty group's records or its place: the
// job that it was made for has left the queue or owes it no failed attempt, and
// no node that is in use could have its machine there unseen.
func (w *world) done(g *mig.Group) bool {
	for _, r := range g.Requests {
		if r.State == mig.Failed && w.jobs[g.Stamp.Job] {
			return false // it counts the attempts
		}
		if r.State != mig.Succeeded {
			continue
		}
		for _, name := range r.Instances {
			m := w.nodes[name]
			if m != nil && m.power != down && !w.elsewhere(name) {
				return false
			}
		}
	}
	return true
}

// elsewhere reports whether the node's machine, or the request for it, is known.
func (w *world) elsewhere(node string) bool {
	return len(w.instances[node]) > 0 || len(w.requests[node]) > 0
}

// lastAsked is when the group's newest request was made, or the group itself.
func lastAsked(g *mig.Group) time.Time {
	if n := len(g.Requests); n > 0 {
		return g.Requests[n-1].Created
	}
	return g.Created
}

// nameUnclear reports what is left alone because it is not understood.
func (w *world) nameUnclear() {
	for _, m := range w.sorted() {
		if m.power == unclear {
			w.problem(fmt.Sprintf("node %s is left alone: state %s is not understood", m.Name, m.State))
		}
	}
}

package plan

import (
	"strconv"
	"time"

	"slurmflex/mig"
)

// settled is how long ago a request must have been made before an instance that
// it has brought and that does not show is taken for lost. Lists of Compute may
// lag behind each other.
const settled = 10 * time.Minute

// haunted reports whether the group counts instances that do not show: they
// were lost behind its back, or do not show yet. Compute keeps the place of a
// lost instance, and takes no other of that name into the group.
func (w *world) haunted(g *mig.Group) bool {
	known := w.inGroup[g.Region+"/"+g.Name]
	for _, r := range g.Live() {
		known += len(r.Instances)
	}
	return g.TargetSize > known
}

// mayShow reports whether an instance of that name has been brought a moment
// ago and may show soon.
func (w *world) mayShow(name string) bool {
	for _, r := range w.brought[name] {
		if w.haunted(r.group) && w.snap.Now.Sub(r.request.Created) < settled {
			return true
		}
	}
	return false
}

// place is the name of the first group for a cohort that is not haunted: name,
// or name-r1, name-r2 and so on.
func (w *world) place(region, name string) string {
	place := name
	for again := 1; ; again++ {
		g := w.groups[region+"/"+place]
		if g == nil || !w.haunted(g) {
			return place
		}
		place = name + "-r" + strconv.Itoa(again)
	}
}

package plan

import (
	"time"

	"slurmflex/mig"
)

// lostAfter is how long ago a request must have been made before an instance that
// it has brought and that does not show is taken for lost. Lists of Compute may
// lag behind each other.
const lostAfter = 10 * time.Minute

// hidden counts the members of the group of which neither an instance nor a live
// request shows, and tells whether it is creating some that no live request asks
// for: then the list of requests lags behind.
func (w *world) hidden(g *mig.Group) (members int, creating bool) {
	asked := 0
	for _, r := range g.Live() {
		asked += len(r.Instances)
	}
	return g.TargetSize - w.inGroup[g.Region+"/"+g.Name] - asked, g.Creating > asked
}

// haunted reports whether the group counts instances that were lost behind its
// back. Compute keeps the place of a lost instance, and takes no other of that
// name into the group.
func (w *world) haunted(g *mig.Group) bool {
	members, creating := w.hidden(g)
	return members > 0 && !creating
}

// isAhead reports whether the group has a request that does not show yet.
func (w *world) isAhead(g *mig.Group) bool {
	members, creating := w.hidden(g)
	return members > 0 && creating
}

// mayShow reports whether an instance of that name has been brought a moment
// ago and may show soon.
func (w *world) mayShow(name string) bool {
	for _, r := range w.brought[name] {
		if w.haunted(r.group) {
			return true
		}
	}
	return false
}

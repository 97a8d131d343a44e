package plan

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"slurmflex/mig"
)

// lostAfter is how long ago a request must have been made before an instance that
// it has brought and that does not show is taken for lost. Lists of Compute may
// lag behind each other.
const lostAfter = 10 * time.Minute

// Hidden returns the groups that count members of which neither an instance nor a
// request shows, and that are not creating them. Only the group itself can say what
// they are: instances that no list shows for now, that show without their group,
// or that are lost.
func (s *Snapshot) Hidden(groups []mig.Group) []mig.Group {
	shown := map[string]int{} // by region/group
	for _, in := range s.Instances {
		shown[in.Region+"/"+in.Group]++
	}
	var hidden []mig.Group
	for _, g := range groups {
		if members, creating := g.Hidden(shown[g.Region+"/"+g.Name]); members > 0 && !creating {
			hidden = append(hidden, g)
		}
	}
	return hidden
}

func (w *world) hidden(g *mig.Group) (members int, creating bool) {
	return g.Hidden(w.inGroup[g.Region+"/"+g.Name])
}

// membersOf are those that a group which hides some says it has. It reports false
// if that is not known.
func (w *world) membersOf(g *mig.Group) ([]mig.Member, bool) {
	m, read := w.snap.Members[g.Region+"/"+g.Name]
	return m.All, read && m.Err == nil
}

// haunted reports whether the group says that it has lost an instance that it
// counts still. Compute keeps the place of a lost instance, and takes no other of
// that name into the group.
func (w *world) haunted(g *mig.Group) bool {
	members, creating := w.hidden(g)
	all, _ := w.membersOf(g)
	return members > 0 && !creating && slices.ContainsFunc(all, mig.Member.Lost)
}

// isAhead reports whether the group has a request that does not show yet.
func (w *world) isAhead(g *mig.Group) bool {
	members, creating := w.hidden(g)
	return members > 0 && creating
}

// noteHidden notes the instances that the group may have though none shows: those
// that it does not say are lost, and those that it was to get of late.
func (w *world) noteHidden(g *mig.Group) {
	if n, _ := w.hidden(g); n <= 0 {
		return
	}
	members, read := w.membersOf(g)
	for _, m := range members {
		if !m.Lost() {
			w.mayShow[m.Name] = true
		}
	}
	for _, r := range g.Requests {
		if r.State == mig.Succeeded && (!read || !w.isOld(r.Created, lostAfter)) {
			for _, name := range r.Instances {
				w.mayShow[name] = true
			}
		}
	}
}

// mayHold reports whether the group counts members that it does not say are lost.
// They would go with it: they are deleted each by itself, once they show.
func (w *world) mayHold(g *mig.Group) bool {
	if n, _ := w.hidden(g); n <= 0 {
		return false
	}
	members, read := w.membersOf(g)
	return !read || slices.ContainsFunc(members, func(m mig.Member) bool { return !m.Lost() })
}

// nameUnread reports the groups that did not say what they hide.
func (w *world) nameUnread() {
	for _, key := range slices.Sorted(maps.Keys(w.snap.Members)) {
		if err := w.snap.Members[key].Err; err != nil {
			w.problem(fmt.Sprintf("group %s counts machines that no list shows, and is left as it is until it says which: %v", key, err))
		}
	}
}

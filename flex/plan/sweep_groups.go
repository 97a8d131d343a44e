package plan

import (
	"maps"
	"slices"
	"time"

	"slurmflex/mig"
)

// Minimum ages of what is collected.
const (
	// youngAge is that of a group or policy: it may be another process's that
	// has not come to its request yet.
	youngAge = 30 * time.Second

	// recordAge is that of a finished request, from when it was made. Compute
	// keeps it for 14 days, and each pass reads it.
	recordAge = time.Hour
)

// deleteGroups deletes our groups that hold nothing and that nobody needs.
func deleteGroups(w *wanted, _ []verdict) (s step) {
	for _, key := range slices.SortedFunc(maps.Keys(w.groups), mig.GroupID.Compare) {
		g := w.groups[key]
		if w.groupOf[key] || len(g.Live()) > 0 || w.inGroup[key] > 0 || !w.done(g) ||
			w.isYoung(&s, "group "+g.Name, g.Created) {
			continue
		}
		s.actions = append(s.actions, DeleteGroup{Of: of(g), Why: "it is empty and no job waits for it"})
	}
	return s
}

// isYoung reports whether something was made too short a time ago to be
// collected. One whose age is not known is not, nor one from the future.
func (s *scene) isYoung(to *step, what string, created time.Time) bool {
	if created.IsZero() || s.isFuture(created) || s.isOld(created, youngAge) {
		return false
	}
	to.expect = append(to.expect, what+" to be old enough to be collected")
	return true
}

// deleteRequests deletes the records of finished requests in groups that stay.
// The newest stays, for the next attempt's name follows it; so do those that
// failed while a job or node waits, because they are counted, and those that say whose
// the machines of the group are.
func deleteRequests(w *wanted, _ []verdict) (s step) {
	for _, key := range slices.SortedFunc(maps.Keys(w.groups), mig.GroupID.Compare) {
		g := w.groups[key]
		if w.inGroup[key] == 0 && len(g.Live()) == 0 {
			continue // the group itself goes, or its records are needed
		}
		for _, r := range g.Requests[:max(len(g.Requests)-1, 0)] {
			counts := r.State == mig.Failed && w.counts(g, r)
			if !r.State.Live() && !counts && !w.shows(r) && w.isOld(r.Created, recordAge) {
				s.actions = append(s.actions, DeleteRequest{Of: of(g), Request: r.Name, Why: "it is finished"})
			}
		}
	}
	return s
}

// counts reports whether a job that waits, or may again, is owed the count of a request
// that has failed.
func (w *wanted) counts(g *mig.Group, r mig.Request) bool {
	if g.Stamp.Array == 0 {
		return w.groupOf[g.ID()] || w.isQueued(g.Stamp.Job)
	}
	return slices.ContainsFunc(r.Instances, func(name string) bool {
		m := w.nodes[name]
		return m != nil && w.cohortOf(m) != nil && w.cohortOf(m).id() == g.ID()
	})
}

// shows reports whether the request has brought machines that are there, or may be.
func (s *scene) shows(r mig.Request) bool {
	return r.State == mig.Succeeded && slices.ContainsFunc(r.Instances, func(n string) bool {
		return len(s.instances[n]) > 0 || s.mayShow[n]
	})
}

// done reports whether nobody needs an empty group's records or its place: the
// job that it was made for has left the queue or owes it no failed attempt, and
// neither a request nor the machine of a node in use could be there unseen, by what
// the lists say and by what the group itself counts.
func (s *scene) done(g *mig.Group) bool {
	counts := slices.ContainsFunc(g.Requests, func(r mig.Request) bool { return r.State == mig.Failed })
	return !(counts && s.isQueuedFor(g.Stamp)) && !s.unaccounted(*g) && !s.isAhead(g) && !s.mayHold(g)
}

// unaccounted reports whether the group has brought a machine for a node that
// is in use, and what the node has now does not show elsewhere, or a machine that
// could not be read.
func (s *scene) unaccounted(g mig.Group) bool {
	for _, r := range g.Requests {
		if r.State != mig.Succeeded {
			continue
		}
		for _, name := range r.Instances {
			if s.unread[name] != "" {
				return true
			}
			if m := s.nodes[name]; m != nil && m.power != down && !s.isElsewhere(name, g) {
				return true
			}
		}
	}
	return false
}

// isElsewhere reports whether a live request asks for the node, or its machine is of
// another group of ours, and both say so: the machine, and the record of a request.
func (s *scene) isElsewhere(node string, g mig.Group) bool {
	return len(s.requests[node]) > 0 || slices.ContainsFunc(s.instances[node], func(in machine) bool {
		if in.group == nil {
			return s.ours(in)
		}
		return in.group.Name != g.Name && slices.ContainsFunc(in.group.Requests, func(r mig.Request) bool { return r.Names(node) })
	})
}

package plan

import (
	"slices"
	"time"

	"slurmflex/flex/plan/scene"
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
	for _, g := range w.scene.UsableGroups() {
		key := g.ID()
		if w.groupOf[key] || len(g.Live()) > 0 || w.scene.InGroup(key) > 0 || !done(w.scene, g) ||
			isYoung(w.scene, &s, "group "+g.Name, g.Created) {
			continue
		}
		s.actions = append(s.actions, DeleteGroup{Of: of(g), Why: "it is empty and no job waits for it"})
	}
	return s
}

// isYoung reports whether something was made too short a time ago to be
// collected. One whose age is not known is not, nor one from the future.
func isYoung(s *scene.Scene, to *step, what string, created time.Time) bool {
	if created.IsZero() || isFuture(s, created) || s.IsOld(created, youngAge) {
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
	for _, g := range w.scene.UsableGroups() {
		key := g.ID()
		if w.scene.InGroup(key) == 0 && len(g.Live()) == 0 {
			continue // the group itself goes, or its records are needed
		}
		for _, r := range g.Requests[:max(len(g.Requests)-1, 0)] {
			counts := r.State == mig.Failed && w.counts(g, r)
			if !r.State.Live() && !counts && !shows(w.scene, r) && w.scene.IsOld(r.Created, recordAge) {
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
		return w.groupOf[g.ID()] || w.scene.IsQueued(g.Stamp.Job)
	}
	return slices.ContainsFunc(r.Instances, func(name string) bool {
		m := w.scene.Node(name)
		return m != nil && w.cohortOf(m) != nil && w.cohortOf(m).id() == g.ID()
	})
}

// shows reports whether the request has brought machines that are there, or may be.
func shows(s *scene.Scene, r mig.Request) bool {
	return r.State == mig.Succeeded && slices.ContainsFunc(r.Instances, func(n string) bool {
		return len(s.MachinesOf(n)) > 0 || s.MayShow(n)
	})
}

// done reports whether nobody needs an empty group's records or its place: the
// job that it was made for has left the queue or owes it no failed attempt, and
// neither a request nor the machine of a node in use could be there unseen, by what
// the lists say and by what the group itself counts.
func done(s *scene.Scene, g *mig.Group) bool {
	counts := slices.ContainsFunc(g.Requests, func(r mig.Request) bool { return r.State == mig.Failed })
	return !(counts && isQueuedFor(s, g.Stamp)) && !unaccounted(s, *g) && !s.Creates(g) && !s.MayHold(g)
}

// unaccounted reports whether the group has brought a machine for a node that
// is in use, and what the node has now does not show elsewhere, or a machine that
// could not be read.
func unaccounted(s *scene.Scene, g mig.Group) bool {
	for _, r := range g.Requests {
		if r.State != mig.Succeeded {
			continue
		}
		for _, name := range r.Instances {
			if s.Unread(name) != "" {
				return true
			}
			if m := s.Node(name); m != nil && m.Power != scene.Off && !isElsewhere(s, name, g) {
				return true
			}
		}
	}
	return false
}

// isElsewhere reports whether a live request asks for the node, or its machine is of
// another group of ours, and both say so: the machine, and the record of a request.
func isElsewhere(s *scene.Scene, node string, g mig.Group) bool {
	return len(s.RequestsOf(node)) > 0 || slices.ContainsFunc(s.MachinesOf(node), func(in scene.Machine) bool {
		if in.Maker == nil {
			return s.Ours(in)
		}
		return in.Maker.Name != g.Name && slices.ContainsFunc(in.Maker.Requests, func(r mig.Request) bool { return r.Names(node) })
	})
}

// isFuture reports whether a time lies in the future by both clocks.
func isFuture(s *scene.Scene, t time.Time) bool {
	return s.Seen.Skew >= -scene.MaxSkew && t.Sub(s.Seen.Now) > scene.MaxSkew
}

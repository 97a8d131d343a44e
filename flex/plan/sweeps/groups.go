package sweeps

import (
	"slices"
	"time"

	"slurmflex/flex/plan/action"
	"slurmflex/flex/plan/demand"
	"slurmflex/flex/plan/scene"
	"slurmflex/mig"
)

// The minimum ages for deletion.
const (
	// youngAge applies to groups and policies: another process may have created a younger one and
	// not yet made its request.
	youngAge = 30 * time.Second

	// recordAge applies to finished requests, from their creation. Compute keeps them for 14 days,
	// and each pass reads them.
	recordAge = time.Hour
)

// deleteGroups deletes our groups that are empty and no longer needed.
func deleteGroups(s *Step) {
	for _, g := range s.UsableGroups {
		key := g.ID()
		if s.GroupOf[key] || len(g.Live()) > 0 || s.Group(key).Shown > 0 || !done(s.Scene, g) || s.isYoung(g.Created) {
			continue
		}
		s.do(action.DeleteGroup{Of: action.ForGroup(g), Why: "it is empty and no job waits for it"})
	}
}

// isYoung reports whether something was created too recently to be deleted. It reports false if the
// age is unknown or the creation time is in the future.
func (s *Step) isYoung(created time.Time) bool {
	if created.IsZero() || isFuture(s.Scene, created) || s.IsOld(created, youngAge) {
		return false
	}
	s.Soon = true // it will be old enough
	return true
}

// deleteRequests deletes the records of finished requests in groups that are kept. It keeps the
// newest record, because the name of the next attempt follows from it; failed requests while a job
// or node waits, because they count as attempts; and records that show which job the group's
// machines belong to.
func deleteRequests(s *Step) {
	for _, g := range s.UsableGroups {
		key := g.ID()
		if s.Group(key).Shown == 0 && len(g.Live()) == 0 {
			continue // the group itself is deleted, or its records are needed
		}
		for _, r := range g.Requests[:max(len(g.Requests)-1, 0)] {
			counts := r.State == mig.Failed && stillCounts(s.Wanted, g, r)
			if !r.State.Live() && !counts && !shows(s.Scene, r) && s.IsOld(r.Created, recordAge) {
				s.do(action.DeleteRequest{Of: action.ForGroup(g), Request: r.Name, Why: "it is finished"})
			}
		}
	}
}

// stillCounts reports whether a failed request still counts as an attempt for a job that waits or may
// wait again.
func stillCounts(w *demand.Wanted, g *mig.Group, r mig.Request) bool {
	if !g.Stamp.Shared() {
		return w.GroupOf[g.ID()] || w.IsQueued(g.Stamp.Job)
	}
	return w.AnyNode(r.Instances, func(m *scene.Node) bool { return w.ClaimOf(m) != nil && w.ClaimOf(m).ID() == g.ID() })
}

// shows reports whether the request created machines that exist or may exist.
func shows(s *scene.Scene, r mig.Request) bool {
	return r.State == mig.Succeeded && slices.ContainsFunc(r.Instances, func(n string) bool {
		return len(s.Named(n).Machines) > 0 || s.Named(n).MayShow
	})
}

// done reports whether an empty group may be deleted: no queued job needs its count of failed
// attempts, and it neither hides a request nor the machine of a node in use, according to both the
// lists and the group's own count.
func done(s *scene.Scene, g *mig.Group) bool {
	of, counts := s.Group(g.ID()), slices.ContainsFunc(g.Requests, func(r mig.Request) bool { return r.State == mig.Failed })
	return !(counts && s.HasJobOf(g.Stamp)) && !unaccounted(s, *g) && !of.Creates && !of.MayHold
}

// unaccounted reports whether the group created a machine that could not be read, or the machine of
// a node that is in use and without any other known machine or request.
func unaccounted(s *scene.Scene, g mig.Group) bool {
	for _, r := range g.Requests {
		if r.State != mig.Succeeded {
			continue
		}
		for _, name := range r.Instances {
			if s.Named(name).Unread != "" {
				return true
			}
			if m := s.Node(name); m != nil && m.Power != scene.Off && !isElsewhere(s, name, g) {
				return true
			}
		}
	}
	return false
}

// isElsewhere reports whether a live request names the node, or another group of ours created its
// machine. The latter counts only if both the machine and the record of a request name that group.
func isElsewhere(s *scene.Scene, node string, g mig.Group) bool {
	return len(s.Named(node).Requests) > 0 || slices.ContainsFunc(s.Named(node).Machines, func(in scene.Machine) bool {
		if in.Maker == nil {
			return in.Ours
		}
		return in.Maker.Name != g.Name && slices.ContainsFunc(in.Maker.Requests, func(r mig.Request) bool { return r.Names(node) })
	})
}

// isFuture reports whether a time is in the future by both clocks.
func isFuture(s *scene.Scene, t time.Time) bool {
	return s.Seen.Skew >= -scene.MaxSkew && t.Sub(s.Seen.Now) > scene.MaxSkew
}

package sweeps

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"slurmflex/config"
	"slurmflex/flex/plan/action"
	"slurmflex/flex/plan/memo"
	"slurmflex/flex/plan/scene"
	"slurmflex/slurm"
)

// reserve keeps jobs that would not finish in time off nodes with an ending lease or with announced
// maintenance of their host. It makes one reservation for each end, rounded down to the minute. The
// reservation exists from the moment that the instance has an end until Slurm knows that the
// instance is gone. Nodes that could not be read, or that have an unknown state, keep their
// reservation, as do nodes outside the configuration: the configuration file may be truncated.
//
// Each reservation ends soon after the lease, so that Slurm does not expect jobs to wait longer.
// Passes extend it while a configured node in it is up.
func reserve(s *Step) {
	want, maintained := allEnds(s.Scene)
	have := map[string]*slurm.Reservation{}
	for _, h := range s.Holds {
		if h.Kind == memo.LeaseHold {
			have[h.Name] = h.Reservation
		}
	}
	unknown := map[string]bool{} // reservations that only unconfigured nodes need
	for name, r := range have {
		unknown[name] = want[name] == nil
		for _, node := range r.Nodes {
			m := s.Node(node)
			if m == nil || mayHaveLease(m) {
				want[name] = append(want[name], node)
				unknown[name] = unknown[name] && m == nil
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(want)) {
		nodes := slices.Compact(slices.Sorted(slices.Values(want[name])))
		end := memo.ParseHold(s.Config.Cluster, name).At
		why := action.Why("their leases end at " + end.Format(time.RFC3339))
		if maintained[name] {
			why = action.Why("their leases end, or maintenance of their hosts begins, at " + end.Format(time.RFC3339))
		}
		start, grace := end, leaseGrace(s.Config)
		if s.IsOld(end, 0) {
			start = s.Seen.Now.Truncate(time.Minute)
		}
		until := start.Add(grace)
		r := have[name]
		switch {
		case s.IsSkipped(slurm.ReservationRow, name) || unknown[name] && !r.End.After(until):
		case r == nil:
			s.do(action.CreateReservation{
				OfReservation: action.OfReservation{Name: name}, Nodes: nodes, Start: start, Lasts: grace, Maint: true, Why: why,
			})
		case r.End.Before(until.Add(-grace/2)) || r.End.After(until):
			s.changeReservation(name, slurm.ReservationChange{Nodes: nodes, End: until}, why)
		case !slices.Equal(nodes, slices.Sorted(slices.Values(r.Nodes))):
			s.changeReservation(name, slurm.ReservationChange{Nodes: nodes}, why)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(have)) {
		if want[name] == nil {
			s.deleteReservation(name, "no instance ends at that time any more")
		}
	}
}

// deleteFormer deletes our reservations of kinds that this version no longer makes.
func deleteFormer(s *Step) {
	for _, h := range s.Holds {
		if h.Kind == memo.FormerHold {
			a := action.DeleteReservation{OfReservation: action.OfReservation{Name: h.Name}, Why: "slurmflex no longer creates such reservations"}
			if j := s.Jobs[h.Job]; j != nil && j.Reservation == h.Name {
				a.Job, a.Address = j.ID, j.Address()
			}
			s.do(a)
		}
	}
	slices.SortFunc(s.Actions, func(a, b action.Action) int { return cmp.Compare(action.About(a).Text, action.About(b).Text) })
}

// leaseGrace returns how long a reservation outlasts the lease, or the pass that extended it. Half
// of it is left at the next pass. If slurmflex does not run, Slurm must notice within leaseGrace
// that the machine is gone: Slurm pings nodes every third of SlurmdTimeout, which is 5 minutes by
// default.
func leaseGrace(cfg *config.Config) time.Duration {
	return max(10*time.Minute, (2*cfg.Options.Interval + time.Minute - 1).Truncate(time.Minute))
}

// mayHaveLease reports whether the node may still have the machine that it is reserved for. Either
// the machine could not be read, or the node is up and lacks another machine of ours with a known
// end or without an end.
func mayHaveLease(m *scene.Node) bool {
	switch {
	case m.IsUnread, m.Power == scene.Unclear:
		return true
	case m.Power != scene.On:
		return false
	}
	return !slices.ContainsFunc(m.Machines, func(in scene.Machine) bool {
		return in.Ours && !in.Leaving() && (!in.Until().IsZero() || m.Set.Flex.MaxRunDuration == 0)
	})
}

// allEnds returns the nodes with an instance that has an end, by reservation name, and which of
// these reservations are for host maintenance.
func allEnds(s *scene.Scene) (nodes map[string][]string, maintained map[string]bool) {
	nodes, maintained = map[string][]string{}, map[string]bool{}
	for _, m := range s.Nodes {
		if m.Power != scene.On && m.Power != scene.Rising || m.Door != nil { // the boot may delay the job's end
			continue
		}
		for _, in := range m.Machines {
			if until := in.Until(); !until.IsZero() && in.Ours {
				name := memo.Reservation(s.Config.Cluster, until.Truncate(time.Minute))
				nodes[name] = append(nodes[name], m.Name)
				maintained[name] = maintained[name] || !until.Equal(in.Terminates)
				break
			}
		}
	}
	return nodes, maintained
}

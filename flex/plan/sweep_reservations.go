package plan

import (
	"maps"
	"slices"
	"time"

	"slurmflex/flex/plan/memo"
	"slurmflex/slurm"
)

// reserve keeps jobs that would not be done in time off nodes whose lease ends, or whose
// host is to be maintained: one reservation for each end, to the minute before, from the
// moment that the instance has one until Slurm knows that it is gone. What could not be read, or
// is not understood, stays as it is.
func reserve(w *wanted, _ []verdict) (s step) {
	want, maintained := w.ends()
	have := map[string][]string{}
	for _, r := range w.snap.Reservations {
		if _, ours := memo.ParseReservation(w.cfg.Cluster, r.Name); ours {
			have[r.Name] = r.Nodes
		}
	}
	for _, m := range w.members {
		if len(m.reserved) == 0 || !w.isUnread(m) && m.power != unclear && (m.power != up || w.knowsEnd(m)) {
			continue
		}
		for _, r := range m.reserved {
			if have[r.Name] != nil {
				want[r.Name] = append(want[r.Name], m.Name)
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(want)) {
		nodes := slices.Compact(slices.Sorted(slices.Values(want[name])))
		end, _ := memo.ParseReservation(w.cfg.Cluster, name)
		why := Why("their leases end at " + end.Format(time.RFC3339))
		if maintained[name] {
			why = Why("their leases end, or maintenance of their hosts begins, at " + end.Format(time.RFC3339))
		}
		reserved, exists := have[name]
		switch {
		case w.isSkipped(slurm.ReservationRow, name):
		case !exists:
			s.actions = append(s.actions, CreateReservation{OfReservation: OfReservation{name}, Nodes: nodes, Start: end, Why: why})
		case !slices.Equal(nodes, slices.Sorted(slices.Values(reserved))):
			s.actions = append(s.actions, SetReservation{OfReservation: OfReservation{name}, Nodes: nodes, Why: why})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(have)) {
		if want[name] == nil {
			s.actions = append(s.actions, DeleteReservation{OfReservation: OfReservation{name}, Why: "no instance ends then any more"})
		}
	}
	return s
}

// knowsEnd reports whether the node has a machine that stays, and it is known
// until when, or that it has no end.
func (s *scene) knowsEnd(m *member) bool {
	return slices.ContainsFunc(m.machines, func(in machine) bool {
		return !in.Leaving() && !(s.ours(in) && in.Until().IsZero() && m.set.Flex.MaxRunDuration > 0)
	})
}

// ends returns the nodes whose instance has an end, by the reservation's name, and of
// which reservations that is maintenance of a host.
func (s *scene) ends() (nodes map[string][]string, maintained map[string]bool) {
	nodes, maintained = map[string][]string{}, map[string]bool{}
	for _, m := range s.members {
		if m.power != up && m.power != rising {
			continue
		}
		for _, in := range m.machines {
			if until := in.Until(); !until.IsZero() && s.ours(in) {
				name := memo.Reservation(s.cfg.Cluster, until.Truncate(time.Minute))
				nodes[name] = append(nodes[name], m.Name)
				maintained[name] = maintained[name] || !until.Equal(in.Terminates)
				break
			}
		}
	}
	return nodes, maintained
}

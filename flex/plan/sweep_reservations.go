package plan

import (
	"maps"
	"slices"
	"time"

	"slurmflex/flex/plan/memo"
	"slurmflex/slurm"
)

// reserve keeps jobs that would not be done in time off nodes whose lease ends:
// one reservation for each end, to the minute before, from the moment that the
// instance has one until Slurm knows that it is gone. What could not be read, or
// is not understood, stays as it is.
func reserve(w *wanted, _ []verdict) (s step) {
	want := w.ends()
	have := map[string][]string{}
	for _, r := range w.snap.Reservations {
		if _, ours := memo.ParseReservation(w.cfg.Cluster, r.Name); ours {
			have[r.Name] = r.Nodes
		}
	}
	for name, nodes := range have {
		for _, n := range nodes {
			m := w.nodes[n]
			if m == nil {
				continue
			}
			if w.isUnread(m) || m.power == unclear || m.power == up && !w.knowsEnd(m) {
				want[name] = append(want[name], n)
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(want)) {
		nodes := slices.Compact(slices.Sorted(slices.Values(want[name])))
		end, _ := memo.ParseReservation(w.cfg.Cluster, name)
		why := Why("their leases end at " + end.Format(time.RFC3339))
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
			s.actions = append(s.actions, DeleteReservation{OfReservation: OfReservation{name}, Why: "no instance's lease ends then any more"})
		}
	}
	return s
}

// knowsEnd reports whether the node has a machine that stays, and it is known
// until when.
func (s *scene) knowsEnd(m *member) bool {
	return slices.ContainsFunc(m.machines, func(in machine) bool { return !in.Leaving() && !(s.ours(in) && in.Terminates.IsZero()) })
}

// ends returns the nodes whose instance has an end, by the reservation's name.
func (s *scene) ends() map[string][]string {
	byStart := map[int64][]string{}
	for _, m := range s.members {
		if m.power != up && m.power != rising {
			continue
		}
		for _, in := range m.machines {
			if !in.Terminates.IsZero() && s.ours(in) {
				start := in.Terminates.Truncate(time.Minute).Unix()
				byStart[start] = append(byStart[start], m.Name)
				break
			}
		}
	}
	nodes := make(map[string][]string, len(byStart))
	for start, names := range byStart {
		nodes[memo.Reservation(s.cfg.Cluster, time.Unix(start, 0))] = names
	}
	return nodes
}

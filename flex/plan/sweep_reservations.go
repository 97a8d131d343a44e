package plan

import (
	"maps"
	"slices"
	"time"

	"slurmflex/config"
	"slurmflex/flex/plan/memo"
	"slurmflex/flex/plan/scene"
	"slurmflex/slurm"
)

// reserve keeps jobs that would not be done in time off nodes whose lease ends, or whose
// host is to be maintained: one reservation for each end, to the minute before, from the
// moment that the instance has one until Slurm knows that it is gone. What could not be read, or
// is not understood, keeps its reservation.
//
// Each reservation ends soon after the lease, so that Slurm expects no job to wait for
// longer. Passes extend it while the node is up.
func reserve(w *wanted, _ []verdict) (s step) {
	want, maintained := allEnds(w.scene)
	have := map[string]*slurm.Reservation{}
	for _, h := range w.scene.Holds() {
		if h.Kind == memo.LeaseHold {
			have[h.Name] = h.Reservation
		}
	}
	for _, m := range w.scene.Nodes() {
		if len(m.Reserved) == 0 || !w.scene.IsUnread(m) && m.Power != scene.Unclear && (m.Power != scene.On || knowsEnd(w.scene, m)) {
			continue
		}
		for _, r := range m.Reserved {
			if have[r.Name] != nil {
				want[r.Name] = append(want[r.Name], m.Name)
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(want)) {
		nodes := slices.Compact(slices.Sorted(slices.Values(want[name])))
		end := memo.ParseHold(w.scene.Config.Cluster, name).At
		why := Why("their leases end at " + end.Format(time.RFC3339))
		if maintained[name] {
			why = Why("their leases end, or maintenance of their hosts begins, at " + end.Format(time.RFC3339))
		}
		start, grace := end, leaseGrace(w.scene.Config)
		if w.scene.IsOld(end, 0) {
			start = w.scene.Seen.Now.Truncate(time.Minute)
		}
		until := start.Add(grace)
		r := have[name]
		switch {
		case w.scene.IsSkipped(slurm.ReservationRow, name):
		case r == nil:
			s.actions = append(s.actions, CreateReservation{
				OfReservation: OfReservation{name}, Nodes: nodes, Start: start, Lasts: grace, Maint: true, Why: why,
			})
		case r.End.Before(until.Add(-grace/2)) || r.End.After(until):
			s.actions = append(s.actions, SetReservation{OfReservation{name}, slurm.ReservationChange{Nodes: nodes, End: until}, why})
		case !slices.Equal(nodes, slices.Sorted(slices.Values(r.Nodes))):
			s.actions = append(s.actions, SetReservation{OfReservation{name}, slurm.ReservationChange{Nodes: nodes}, why})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(have)) {
		if want[name] == nil {
			s.actions = append(s.actions, DeleteReservation{OfReservation: OfReservation{name}, Why: "no instance ends then any more"})
		}
	}
	return s
}

// leaseGrace is how long a reservation outlasts the lease, or the pass that extended it:
// half of it is left at the next pass. If slurmflex does not run, Slurm must see within
// leaseGrace that the machine is gone: it pings nodes every third of SlurmdTimeout, which
// is 5 minutes by default.
func leaseGrace(cfg *config.Config) time.Duration {
	return max(10*time.Minute, (2*cfg.Options.Interval + time.Minute - 1).Truncate(time.Minute))
}

// knowsEnd reports whether the node has a machine that stays, and it is known
// until when, or that it has no end.
func knowsEnd(s *scene.Scene, m *scene.Node) bool {
	return slices.ContainsFunc(m.Machines, func(in scene.Machine) bool {
		return !in.Leaving() && !(s.Ours(in) && in.Until().IsZero() && m.Set.Flex.MaxRunDuration > 0)
	})
}

// ends returns the nodes whose instance has an end, by the reservation's name, and of
// which reservations that is maintenance of a host.
func allEnds(s *scene.Scene) (nodes map[string][]string, maintained map[string]bool) {
	nodes, maintained = map[string][]string{}, map[string]bool{}
	for _, m := range s.Nodes() {
		if m.Power != scene.On && m.Power != scene.Rising || m.Door != nil { // the job may outlast the lease by its boot
			continue
		}
		for _, in := range m.Machines {
			if until := in.Until(); !until.IsZero() && s.Ours(in) {
				name := memo.Reservation(s.Config.Cluster, until.Truncate(time.Minute))
				nodes[name] = append(nodes[name], m.Name)
				maintained[name] = maintained[name] || !until.Equal(in.Terminates)
				break
			}
		}
	}
	return nodes, maintained
}

package plan

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"slurmflex/slurm"
)

// reservationPrefix begins the names of a cluster's end-of-life reservations;
// the end of the lease follows, in epoch seconds.
func reservationPrefix(cluster string) string { return "slurmflex-" + cluster + "-" }

// leaseEnd reads the end of the leases that a reservation stands for out of its
// name. It reports false for a reservation that is not ours.
func leaseEnd(cluster, reservation string) (time.Time, bool) {
	digits, ok := strings.CutPrefix(reservation, reservationPrefix(cluster))
	if !ok {
		return time.Time{}, false
	}
	seconds, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || strconv.FormatInt(seconds, 10) != digits || seconds < 0 {
		return time.Time{}, false
	}
	return time.Unix(seconds, 0).UTC(), true
}

// IsReservation reports whether a reservation of that name is one of the
// cluster's that stand for ends of leases.
func IsReservation(cluster, name string) bool {
	_, ours := leaseEnd(cluster, name)
	return ours
}

// reserve keeps jobs that would not be done in time off nodes whose lease ends:
// one reservation for each end, to the minute before, from the moment that the
// instance has one until Slurm knows that it is gone. What could not be read, or
// is not understood, stays as it is.
func (w *world) reserve() {
	want := w.ends()
	have := map[string][]string{}
	for _, r := range w.snap.Reservations {
		if _, ours := leaseEnd(w.cfg.Cluster, r.Name); ours {
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
		end, _ := leaseEnd(w.cfg.Cluster, name)
		why := Why("their leases end at " + end.Format(time.RFC3339))
		reserved, exists := have[name]
		switch {
		case w.isSkipped(slurm.ReservationRow, name):
		case !exists:
			w.add(CreateReservation{Name: name, Nodes: nodes, Start: end, Why: why})
		case !slices.Equal(nodes, slices.Sorted(slices.Values(reserved))):
			w.add(SetReservation{Name: name, Nodes: nodes, Why: why})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(have)) {
		if want[name] == nil {
			w.add(DeleteReservation{Name: name, Why: "no instance's lease ends then any more"})
		}
	}
}

// knowsEnd reports whether the node has a machine that stays, and it is known
// until when.
func (w *world) knowsEnd(m *member) bool {
	return slices.ContainsFunc(m.machines, func(in machine) bool { return !in.Leaving() && !(w.ours(in) && in.Terminates.IsZero()) })
}

// ends returns the nodes whose instance has an end, by the reservation's name.
func (w *world) ends() map[string][]string {
	byStart := map[int64][]string{}
	for _, m := range w.members {
		if m.power != up && m.power != rising {
			continue
		}
		for _, in := range m.machines {
			if !in.Terminates.IsZero() && w.ours(in) {
				start := in.Terminates.Truncate(time.Minute).Unix()
				byStart[start] = append(byStart[start], m.Name)
				break
			}
		}
	}
	nodes := make(map[string][]string, len(byStart))
	for start, names := range byStart {
		nodes[reservationPrefix(w.cfg.Cluster)+strconv.FormatInt(start, 10)] = names
	}
	return nodes
}

// endOf tells when the node's lease ended, if a reservation of ours says so.
func (w *world) endOf(node string) (end time.Time, ended bool) {
	for _, r := range w.snap.Reservations {
		at, ours := leaseEnd(w.cfg.Cluster, r.Name)
		if ours && slices.Contains(r.Nodes, node) && w.isOld(at, 0) && at.After(end) {
			end, ended = at, true
		}
	}
	return end, ended
}

// CreateReservation keeps jobs off nodes from the end of their lease on.
type CreateReservation struct {
	Name  string
	Nodes []string
	Start time.Time
	Why
}

// SetReservation gives a reservation of ours another list of nodes.
type SetReservation struct {
	Name  string
	Nodes []string
	Why
}

// DeleteReservation deletes a reservation of ours.
type DeleteReservation struct {
	Name string
	Why
}

func (a CreateReservation) String() string {
	return fmt.Sprintf("reserve %s from %s", slurm.Fold(a.Nodes), a.Start.UTC().Format(time.RFC3339))
}

func (a SetReservation) String() string {
	return fmt.Sprintf("change reservation %s to %s", a.Name, slurm.Fold(a.Nodes))
}

func (a DeleteReservation) String() string { return "delete reservation " + a.Name }

// Queue is each reservation's own: one that Slurm refuses stops nothing else.
func (a CreateReservation) Queue() string { return "reservation/" + a.Name }
func (a SetReservation) Queue() string    { return "reservation/" + a.Name }
func (a DeleteReservation) Queue() string { return "reservation/" + a.Name }

package plan

import (
	"fmt"
	"slices"
	"time"

	"slurmflex/config"
	"slurmflex/flex/plan/memo"
	"slurmflex/flex/plan/scene"
	"slurmflex/slurm"
)

// rest closes a nodeset for a while whose machines come at once and were refused, so that
// Slurm gives jobs nodes of the other partitions of their lists: by one reservation over
// all its nodes that a job could be given and that have no machine. Where no job in the
// queue has such a list, it stays open. It opens again when machines have come, or by itself;
// from its middle on a job is let through to see whether they would.
func rest(w *wanted, _ []verdict) (s step) {
	if slices.ContainsFunc(w.scene.Seen.Unread, func(r slurm.UnreadRow) bool { return r.Kind == slurm.ReservationRow }) {
		return s // whose nodes these are is not known
	}
	for _, set := range w.scene.Config.FlexSets() {
		of := OfReservation{memo.RestReservation(w.scene.Config.Cluster, set.Name)}
		r, until, why := w.scene.Rest(set.Name), restUntil(w.scene, set), Why("no capacity for nodeset "+set.Name)
		if r == nil && !until.After(w.scene.Seen.Now) {
			continue
		}
		nodes := cold(w.scene, set, until)
		nodes = nodes[probe(w.scene, set, len(nodes)):]
		switch {
		case r != nil && !r.End.After(w.scene.Seen.Now): // Slurm drops it within half a minute
		case len(nodes) == 0 || !until.After(w.scene.Seen.Now):
			if r != nil {
				s.actions = append(s.actions, DeleteReservation{OfReservation: of, Why: Why(fmt.Sprintf("no node of nodeset %s is to rest any more", set.Name))})
			}
		case r == nil:
			minutes := (until.Sub(w.scene.Seen.Now) + time.Minute - 1).Truncate(time.Minute)
			s.actions = append(s.actions, CreateReservation{OfReservation: of, Nodes: nodes, Start: w.scene.Seen.Now, Lasts: minutes, Why: why})
		case !slices.Equal(nodes, slices.Sorted(slices.Values(r.Nodes))):
			s.actions = append(s.actions, SetReservation{of, slurm.ReservationChange{Nodes: nodes}, why})
		}
	}
	return s
}

// restUntil is until when the nodeset is to rest; not after now if it is not to. A rest of
// which this process does not know why stays.
func restUntil(s *scene.Scene, set *config.NodeSet) (until time.Time) {
	r, known := s.Rest(set.Name), s.Seen.Stockouts[set.Name]
	switch {
	case !set.Flex.Capacity.AtOnce():
	case r == nil && !slices.ContainsFunc(s.Seen.Jobs, func(j slurm.Job) bool { return hasChoice(s, &j, set) }):
	case !known.At.IsZero() && !known.At.After(s.Seen.Now): // later: noted by a clock that was ahead
		return known.Until()
	case r != nil:
		return r.End
	}
	return time.Time{}
}

// hasChoice reports whether the job, which waits, was submitted to partitions with nodes of
// the nodeset, not all of them closed, and to others.
func hasChoice(s *scene.Scene, j *slurm.Job, set *config.NodeSet) bool {
	if !j.State.Waits() && j.State != slurm.JobConfiguring {
		return false
	}
	here, elsewhere := false, false
	for _, name := range partitionsOf(j) {
		if !leadsTo(s, name, set) {
			elsewhere = true
			continue
		}
		here = here || !slices.ContainsFunc(s.Seen.Partitions, func(p slurm.Partition) bool { return p.Name == name && !p.Up })
	}
	return here && elsewhere
}

// probe is how many of a resting nodeset's cold nodes stay open: from the middle of the rest
// on as many as the first job asks for that waits for such nodes. None while nodes power
// up, which shows as well whether machines come, or once the rest's second half had a refusal.
func probe(s *scene.Scene, set *config.NodeSet, cold int) int {
	last := s.Seen.Stockouts[set.Name]
	if last.Times == 0 || last.Probed || s.Seen.Now.Before(last.Middle()) ||
		slices.ContainsFunc(s.Nodes(), func(m *scene.Node) bool { return m.Set == set && m.Power == scene.Rising }) {
		return 0
	}
	for _, j := range s.ByImportance() {
		if j.State == slurm.JobPending && slurm.LacksNodes(j.Reason) && !j.Pinned() && j.Reservation == "" && j.NodeCount <= cold &&
			slices.ContainsFunc(partitionsOf(j), func(name string) bool { return leadsTo(s, name, set) }) {
			return j.NodeCount
		}
	}
	return 0
}

// leadsTo reports whether the partition has nodes of the nodeset.
func leadsTo(s *scene.Scene, partition string, set *config.NodeSet) bool {
	p, known := s.Config.Partition(partition)
	return known && slices.Contains(p.NodeSets, set.Name)
}

// cold are the nodes of a nodeset, sorted, that have no machine, are wanted by nobody, and
// are in no reservation now or until then, but for the ends of leases and its rest.
func cold(s *scene.Scene, set *config.NodeSet, until time.Time) (nodes []string) {
	reserved := map[string]bool{}
	for _, r := range s.Seen.Reservations {
		if kind := memo.ParseHold(s.Config.Cluster, r.Name).Kind; kind != memo.LeaseHold && kind != memo.RestHold && r.Start.Before(until) && (r.End.IsZero() || r.End.After(s.Seen.Now)) {
			for _, name := range r.Nodes {
				reserved[name] = true
			}
		}
	}
	for _, m := range s.Nodes() {
		if m.Set == set && m.Power == scene.Off && m.Idle() && !m.Taken() && !reserved[m.Name] {
			nodes = append(nodes, m.Name)
		}
	}
	slices.Sort(nodes)
	return nodes
}

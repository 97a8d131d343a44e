package plan

import (
	"fmt"
	"maps"
	"slices"

	"slurmflex/flex/plan/memo"
	"slurmflex/flex/plan/scene"
	"slurmflex/slurm"
)

// endMoves has jobs that have given their nodes back for kept machines start on these, and
// deletes the reservations of those that have, that cannot, or that have left the queue.
// A process may have died anywhere in between.
func endMoves(w *wanted, _ []verdict) (s step) {
	for _, id := range slices.Sorted(maps.Keys(w.scene.Moves())) {
		m := w.scene.Moves()[id]
		late := !w.scene.IsMoving(id) || anyGone(w.scene, m.Nodes)
		switch {
		case w.moves[id] != nil, m.Job == nil && w.scene.IsQueued(id):
		case m.Job == nil:
			s.actions = append(s.actions, DeleteReservation{OfReservation: OfReservation{m.Name}, Why: "its job has left the queue"})
		case m.Job.State.Waits() && m.Job.Priority > 0 && !late:
			if memo.MovesTo(w.scene.Seen.Told[id]) == "" {
				s.actions = append(s.actions, before(w.scene, id, memo.Moving+slurm.Fold(m.Nodes), "")...)
			}
			s.actions = append(s.actions, MoveJob{
				OfJob: OfJob{id}, Name: m.Job.Name(), User: m.Job.User, To: m.Nodes, Limit: limitOn(w.scene, m.Job, m.Nodes), Why: "it has given its nodes back for them",
			})
			s.expect = append(s.expect, fmt.Sprintf("job %s to start on kept machines", m.Job.Name()))
		case m.Job.State == slurm.JobCompleting && !late, m.Job.State == slurm.JobConfiguring && !late && m.HasMoved() && areUp(w.scene, m.Job.Nodes):
			s.expect = append(s.expect, fmt.Sprintf("job %s to start on kept machines", m.Job.Name()))
		default:
			s.actions = append(s.actions, DeleteReservation{OfReservation: OfReservation{m.Name}, Job: id, Why: "its job needs it no longer"})
		}
	}
	return s
}

// anyGone reports whether one of the nodes is not up any more, for certain.
func anyGone(s *scene.Scene, nodes []string) bool {
	return slices.ContainsFunc(nodes, func(name string) bool {
		n := s.Node(name)
		return n != nil && n.Power != scene.On && n.Power != scene.Unclear && !s.IsUnread(n)
	})
}

func areUp(s *scene.Scene, nodes []string) bool {
	return !slices.ContainsFunc(nodes, func(name string) bool { return s.Node(name) == nil || s.Node(name).Power != scene.On })
}

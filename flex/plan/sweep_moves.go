package plan

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"slurmflex/flex/plan/memo"
	"slurmflex/slurm"
)

// endMoves has jobs that have given their nodes back for kept machines start on these, and
// deletes the reservations of those that have, that cannot, or that have left the queue.
// A process may have died anywhere in between.
func endMoves(w *wanted, _ []verdict) (s step) {
	for _, id := range slices.Sorted(maps.Keys(w.moving)) {
		m := w.moving[id]
		late := !w.isMoving(id) || w.anyGone(m.Nodes)
		switch {
		case w.moves[id] != nil, m.job == nil && w.isQueued(id):
		case m.job == nil:
			s.actions = append(s.actions, DeleteReservation{OfReservation: OfReservation{m.Name}, Why: "its job has left the queue"})
		case m.job.State.Waits() && m.job.Priority > 0 && !late:
			if !strings.HasPrefix(w.snap.Told[id], memo.OwnComment+memo.Moving) {
				s.actions = append(s.actions, w.before(id, memo.Moving+slurm.Fold(m.Nodes), "")...)
			}
			s.actions = append(s.actions, MoveJob{
				OfJob: OfJob{id}, Name: m.job.Name(), User: m.job.User, To: m.Nodes, Limit: w.limitOn(m.job, m.Nodes), Why: "it has given its nodes back for them",
			})
			s.expect = append(s.expect, fmt.Sprintf("job %s to start on kept machines", m.job.Name()))
		case m.job.State == slurm.JobCompleting && !late, m.job.State == slurm.JobConfiguring && !late && m.hasMoved() && w.areUp(m.job.Nodes):
			s.expect = append(s.expect, fmt.Sprintf("job %s to start on kept machines", m.job.Name()))
		default:
			s.actions = append(s.actions, DeleteReservation{OfReservation: OfReservation{m.Name}, Job: id, Why: "its job needs it no longer"})
		}
	}
	return s
}

// anyGone reports whether one of the nodes is not up any more, for certain.
func (s *scene) anyGone(nodes []string) bool {
	return slices.ContainsFunc(nodes, func(name string) bool {
		n := s.nodes[name]
		return n != nil && n.power != up && n.power != unclear && !s.isUnread(n)
	})
}

func (s *scene) areUp(nodes []string) bool {
	return !slices.ContainsFunc(nodes, func(name string) bool { return s.nodes[name] == nil || s.nodes[name].power != up })
}

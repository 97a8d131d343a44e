package plan

import (
	"time"

	"slurmflex/config"
	"slurmflex/flex/plan/memo"
	"slurmflex/slurm"
)

// Times of a move to kept machines.
const (
	// moveTime is for how long a kept machine must stay, and its lease have to spare,
	// for a job to move to it: jobs start within seconds.
	moveTime = 30 * time.Second

	// moveLimit is for how long a job may be under way. Then what holds it (a hold, a
	// license) may take long, and others may have the machines.
	moveLimit = 2 * time.Minute
)

// moving is a job on its way to kept machines, as the reservation says that was made for
// it: that is all that is remembered of a move.
type moving struct {
	*slurm.Reservation
	job *slurm.Job // nil: it has left the queue
}

// addMoves notes the reservations in which jobs move, those that hold machines for a job
// that has lost others, and which nodes these keep.
func (s *scene) addMoves() {
	jobs := make(map[uint32]*slurm.Job, len(s.snap.Jobs))
	for i := range s.snap.Jobs {
		jobs[s.snap.Jobs[i].ID] = &s.snap.Jobs[i]
	}
	for i := range s.snap.Reservations {
		r := &s.snap.Reservations[i]
		id, ours := memo.ParseMove(s.cfg.Cluster, r.Name)
		of, holds := memo.ParseSalvage(s.cfg.Cluster, r.Name)
		set, rests := memo.ParseRest(s.cfg.Cluster, r.Name)
		switch {
		case rests: // none of its nodes has a machine
			s.rests[set] = r
			continue
		case ours:
			s.moving[id] = moving{r, jobs[id]}
		case holds:
			s.salvaging[of] = moving{r, jobs[of]}
		}
		for _, name := range r.Nodes {
			switch m := s.nodes[name]; {
			case m == nil:
			case ours || holds:
				m.promised = true
			default:
				m.reserved = append(m.reserved, r)
			}
		}
	}
}

// hasMoved reports whether Slurm has given the job nodes since its reservation was made.
func (m moving) hasMoved() bool { return !m.job.Start.Before(m.Start) }

// isMoving reports whether the job has given its nodes back for kept machines, and does
// not run yet: its request stays until it does.
func (s *scene) isMoving(job uint32) bool {
	m, reserved := s.moving[job]
	return reserved && m.job != nil && m.job.State != slurm.JobRunning && !s.isOld(m.Start, moveLimit)
}

// movingTasks counts the tasks of the array that are on their way to kept machines.
func (s *scene) movingTasks(array uint32) (n int) {
	for id, m := range s.moving {
		if m.job != nil && m.job.Array() == array && s.isMoving(id) {
			n++
		}
	}
	return n
}

// freeUntil is when the machine of a kept node goes, or somebody has reserved it; it
// reports false if that is not known, or the node has not just one machine of ours.
func (s *scene) freeUntil(m *member) (until time.Time, known bool) {
	if len(m.machines) != 1 || !s.hasMachine(m.Name) {
		return time.Time{}, false
	}
	switch until = m.machines[0].Until().Truncate(time.Minute); {
	case !until.IsZero():
	case m.set.Flex.MaxRunDuration > 0:
		return time.Time{}, false
	default:
		until = s.snap.Now.Add(config.NoLease)
	}
	for _, r := range m.reserved {
		if ended := !r.End.IsZero() && !r.End.After(s.snap.Now); !ended && r.Start.Before(until) {
			until = r.Start
		}
	}
	return until, true
}

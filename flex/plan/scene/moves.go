package scene

import (
	"time"

	"slurmflex/config"
	"slurmflex/slurm"
)

// Times of a move to kept machines.
const (
	// moveTime is for how long a kept machine must stay, and its lease have to spare,
	// for a job to move to it: jobs start within seconds.
	MoveTime = 30 * time.Second

	// moveLimit is for how long a job may be under way. Then what holds it (a hold, a
	// license) may take long, and others may have the machines.
	moveLimit = 2 * time.Minute
)

// Move is a job on its way to kept machines, as the reservation says that was made for
// it: that is all that is remembered of a move.
type Move struct {
	*slurm.Reservation
	Job *slurm.Job // nil: it has left the queue
}

// HasMoved reports whether Slurm has given the job nodes since its reservation was made.
func (m Move) HasMoved() bool { return !m.Job.Start.Before(m.Start) }

// IsMoving reports whether the job has given its nodes back for kept machines, and does
// not run yet: its request stays until it does.
func (s *Scene) IsMoving(job uint32) bool {
	m, reserved := s.moves[job]
	return reserved && m.Job != nil && m.Job.State != slurm.JobRunning && !s.IsOld(m.Start, moveLimit)
}

// MovingTasks counts the tasks of the array that are on their way to kept machines.
func (s *Scene) MovingTasks(array uint32) (n int) {
	for id, m := range s.moves {
		if m.Job != nil && m.Job.Array() == array && s.IsMoving(id) {
			n++
		}
	}
	return n
}

// FreeUntil is when the machine of a kept node goes, or somebody has reserved it; it
// reports false if that is not known, or the node has not just one machine of ours.
func (s *Scene) FreeUntil(m *Node) (until time.Time, known bool) {
	if len(m.Machines) != 1 || !s.HasMachine(m.Name) {
		return time.Time{}, false
	}
	switch until = m.Machines[0].Until().Truncate(time.Minute); {
	case !until.IsZero():
	case m.Set.Flex.MaxRunDuration > 0:
		return time.Time{}, false
	default:
		until = s.Seen.Now.Add(config.NoLease)
	}
	for _, r := range m.Reserved {
		if ended := !r.End.IsZero() && !r.End.After(s.Seen.Now); !ended && r.Start.Before(until) {
			until = r.Start
		}
	}
	return until, true
}

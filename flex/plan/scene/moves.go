package scene

import (
	"time"

	"slurmflex/config"
	"slurmflex/slurm"
)

// Times of a move to warm machines.
const (
	// MoveTime is how long a warm machine must remain, and how much of its lease must be left over,
	// for a job to move to it: jobs start within seconds.
	MoveTime = 30 * time.Second

	// moveLimit is how long a move may take. After that a hold or a license may delay the job for
	// long, and other jobs may use the machines.
	moveLimit = 2 * time.Minute
)

// Move is a job that moves to warm machines, and the reservation for the move. The reservation is
// the only record of a move.
type Move struct {
	*slurm.Reservation
	Job *slurm.Job // nil: the job has left the queue
}

// HasMoved reports whether Slurm has allocated nodes to the job since its reservation was made.
func (m Move) HasMoved() bool { return !m.Job.Start.Before(m.Start) }

// IsMoving reports whether the job has released its nodes for warm machines and does not run yet.
// Its request is kept until it runs.
func (s *Scene) IsMoving(job uint32) bool {
	m, reserved := s.moves[job]
	return reserved && m.Job != nil && m.Job.State != slurm.JobRunning && !s.IsOld(m.Start, moveLimit)
}

// MovingTasks counts the array's tasks that are moving to warm machines.
func (s *Scene) MovingTasks(array uint32) (n int) {
	for id, m := range s.moves {
		if m.Job != nil && m.Job.Array() == array && s.IsMoving(id) {
			n++
		}
	}
	return n
}

// FreeUntil returns when the machine of a warm node ends, or when the next reservation of the node
// starts, if that is earlier. It reports false if that is unknown, or unless the node has exactly
// one machine and that machine is ours.
func (s *Scene) FreeUntil(m *Node) (until time.Time, known bool) {
	if len(m.Machines) != 1 || !s.HasMachine(m.Name) {
		return time.Time{}, false
	}
	switch until = m.Machines[0].end().Truncate(time.Minute); {
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

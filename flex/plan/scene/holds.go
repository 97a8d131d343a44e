package scene

import (
	"slurmflex/flex/plan/memo"
	"slurmflex/slurm"
)

// Hold is one of our reservations and the parts of its name.
type Hold struct {
	*slurm.Reservation
	memo.Hold
}

// Salvage is a job with machines held for it after a loss, and the reservation that holds them. The
// reservation is the only record of a salvage.
type Salvage struct {
	*slurm.Reservation
	Job *slurm.Job // nil: the job has left the queue
}

// addHolds parses our reservations and records which nodes are reserved.
func (s *Scene) addHolds() {
	for i := range s.Seen.Reservations {
		r := &s.Seen.Reservations[i]
		h := Hold{r, memo.ParseHold(s.Config.Cluster, r.Name)}
		if h.Kind != memo.NoHold {
			s.holds = append(s.holds, h)
		}
		switch h.Kind {
		case memo.FormerHold: // is deleted
			continue
		case memo.SalvageHold:
			s.salvages[h.Job] = Salvage{r, s.jobs[h.Job]}
		case memo.CoverHold:
			s.covers = append(s.covers, h)
			continue
		case memo.DoorHold:
			s.doors = append(s.doors, &Door{Hold: h})
			continue
		}
		for _, name := range r.Nodes {
			switch m := s.Node(name); {
			case m == nil:
			case h.Kind == memo.SalvageHold:
				m.Promised = true
			default:
				m.Reserved = append(m.Reserved, r)
			}
		}
	}
}

// Holds returns our reservations, in the order in which Slurm lists them.
func (s *Scene) Holds() []Hold { return s.holds }

// Salvages returns the jobs with machines held for them after a loss. The caller must not change
// the map.
func (s *Scene) Salvages() map[uint32]Salvage { return s.salvages }

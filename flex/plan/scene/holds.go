package scene

import (
	"slices"
	"time"

	"slurmflex/flex/plan/memo"
	"slurmflex/slurm"
)

// Hold is one of our reservations and the parts of its name.
type Hold struct {
	*slurm.Reservation
	memo.Hold

	// Of a cover: the earliest time at which a daemon can last have raised its purge_comp, the time at which
	// a daemon would have raised it again, and whether no daemon maintains it any longer.
	Raised      time.Time
	AbandonedAt time.Time
	Abandoned   bool
}

// addHolds parses our reservations and records which nodes are reserved.
func (s builder) addHolds() {
	for i := range s.Seen.Reservations {
		r := &s.Seen.Reservations[i]
		h := Hold{Reservation: r, Hold: memo.ParseHold(s.Config.Cluster, r.Name)}
		h.Raised = h.Start.Add(h.Purge() - memo.CoverGrace - time.Minute)
		h.AbandonedAt = h.Raised.Add(memo.CoverAbandoned + s.Config.Options.Interval)
		h.Abandoned = s.IsOld(h.AbandonedAt, 0)
		if h.Kind != memo.NoHold {
			s.Holds = append(s.Holds, h)
		}
		switch h.Kind {
		case memo.FormerHold: // slurmflex deletes it
			continue
		case memo.CoverHold:
			s.covers = append(s.covers, h)
			continue
		case memo.DoorHold:
			s.Doors = append(s.Doors, &Door{Hold: h})
			continue
		}
		for _, m := range s.NodesNamed(r.Nodes) {
			m.Reserved = append(m.Reserved, r)
			if h.Kind == memo.NoHold {
				m.Others, m.Foreign = append(m.Others, r), m.Foreign || s.staysOpen(r)
			}
		}
	}
	s.addLostDoors()
}

// staysOpen reports whether no cover may close the nodes of another's reservation. Its jobs obey covers, unless
// it has the flag MAINT or OVERLAP, and may run while it lasts; with FLEX earlier. If it starts later and lasts
// beyond the horizon, Slurm plans no job there, but may start jobs that end before it.
func (s builder) staysOpen(r *slurm.Reservation) bool {
	isLater := r.Start.After(s.Seen.Now)
	if slices.Contains(r.Flags, "MAINT") || slices.Contains(r.Flags, "OVERLAP") {
		return isLater && !r.Start.After(s.Horizon) && r.End.After(s.Horizon)
	}
	return !isLater || slices.Contains(r.Flags, "FLEX") || !r.Start.After(s.Horizon) && r.End.After(s.Horizon)
}

// addLostDoors adds a door without nodes for each waiting job whose door slurmctld no longer has, for
// example because its state file was lost: Slurm ignores the job until it leaves the door (22.05, 26.05).
func (s builder) addLostDoors() {
	known := map[string]bool{}
	for _, d := range s.Doors {
		known[d.Name] = true
	}
	for _, j := range s.Seen.Jobs {
		h := memo.ParseHold(s.Config.Cluster, j.Reservation)
		if h.Kind == memo.DoorHold && j.State.Waits() && !known[j.Reservation] && !s.anyHold {
			s.Doors = append(s.Doors, &Door{Hold: Hold{Reservation: &slurm.Reservation{Name: j.Reservation}, Hold: h}})
		}
	}
}

// AnyCover reports whether a reservation of ours closes nodes now or later.
func (s *Scene) AnyCover() bool { return len(s.covers) > 0 }

// Covers returns our covers of one kind, oldest first.
func (s *Scene) Covers(over memo.Cover) (all []Hold) {
	for _, h := range s.covers {
		if h.Over == over {
			all = append(all, h)
		}
	}
	slices.SortStableFunc(all, func(a, b Hold) int { return a.At.Compare(b.At) })
	return all
}

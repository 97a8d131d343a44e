package demand

import (
	"cmp"
	"slices"
	"time"

	"slurmflex/config"
	"slurmflex/flex/plan/scene"
	"slurmflex/slurm"
)

// findSurvivors finds the running jobs of covered nodesets that have lost machines, and the
// machines that each keeps. A job keeps all its other machines if its time limit fits their leases.
// Once Slurm has requeued the job, it gets a door over them.
func (w *Wanted) findSurvivors() {
	sets := w.Covered()
	for i := range w.Seen.Jobs {
		j := &w.Seen.Jobs[i]
		switch left := survivorsOf(w.Scene, sets, j); {
		case len(left) == 0:
		case len(usable(w.Scene, left, j)) < len(left):
			w.Short[j.ID] = true
		default:
			w.survivors[j.ID] = left
		}
	}
}

// survivorsOf returns the nodes of the remaining machines of a running job that has several nodes
// and lost some. It returns none unless Slurm will requeue the job and slurmflex may make a door
// for it.
func survivorsOf(s *scene.Scene, sets map[*config.NodeSet]bool, j *slurm.Job) (left []*scene.Node) {
	if j.State != slurm.JobRunning || len(j.Nodes) < 2 || j.HetID != 0 || j.User == "" || len(j.Needs) > 0 || j.Limit.Kind != slurm.LimitSet ||
		j.Reservation != "" || !s.Seen.Records[j.ID].Requeues() || s.Seen.Skew > scene.MaxSkew {
		return nil
	}
	members := s.NodesNamed(j.Nodes)
	if !slices.ContainsFunc(members, func(m *scene.Node) bool { return sets[m.Set] && m.Set.Flex.Salvage }) || !hasLost(s, j) {
		return nil
	}
	for _, m := range members {
		if sets[m.Set] && survives(s, m, j) {
			left = append(left, m)
		}
	}
	return left
}

// AreCovered reports whether the cover closes the machines that the job keeps after a loss.
func (w *Wanted) AreCovered(job *slurm.Job) bool {
	return !slices.ContainsFunc(w.survivors[job.ID], func(m *scene.Node) bool { return !m.Cover })
}

// survives reports whether the job can keep the node's machine: the machine is up and not
// withdrawn, no other job holds the node, and no reservation of another covers it, so that the cover
// can close it.
func survives(s *scene.Scene, m *scene.Node, j *slurm.Job) bool {
	_, known := s.FreeUntil(m)
	return known && m.Set.Flex.Salvage && !m.Static && m.Power == scene.On && !m.IsWithdrawn() && !m.Doubted && !m.IsUnread && !m.Foreign && !IsForOthers(s, m, j) &&
		!m.State.Has(slurm.PowerDown) && !m.Machines[0].Stopped() &&
		!slices.ContainsFunc(m.Holders, func(other *slurm.Job) bool { return other.ID != j.ID })
}

// hasLost reports whether a running job has lost machines and the state of each of its nodes is
// certain.
func hasLost(s *scene.Scene, j *slurm.Job) (lost bool) {
	for _, name := range j.Nodes {
		m := s.Node(name)
		if m == nil || m.Doubted || m.IsUnread || len(m.Holders) != 1 {
			return false
		}
		switch {
		case m.LostBy == "" || m.IsWithdrawn():
		case m.LostBy == scene.LeaseEnded || !m.IsLost:
			return false
		default:
			lost = true
		}
	}
	return lost
}

// join requests the claim's machines to match those of other nodes of its job: in the same zones,
// placed with them, and for the rest of their leases.
func join(s *scene.Scene, c *Claim, others []string) {
	if len(others) == 0 {
		return
	}
	var zones []string
	for _, name := range others {
		in := s.Node(name).Machines[0]
		zones = append(zones, in.Zone)
		if c.Set.Placement && in.Maker != nil {
			c.Policy = cmp.Or(c.Policy, in.Maker.Policy)
		}
		if in.Terminates.IsZero() {
			continue
		}
		c.Lease = min(c.Lease, max(in.Terminates.Sub(s.Seen.Now).Truncate(time.Second), config.MinRunDuration))
	}
	slices.Sort(zones)
	c.Zones = slices.Compact(zones)
}

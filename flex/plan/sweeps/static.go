package sweeps

import (
	"fmt"
	"slices"

	"slurmflex/flex/plan/action"
	"slurmflex/flex/plan/demand"
	"slurmflex/flex/plan/memo"
	"slurmflex/flex/plan/rules"
	"slurmflex/flex/plan/scene"
	"slurmflex/slurm"
)

// powerUpStatic powers up static nodes that are powered down without a reason: when the cluster
// starts, and after their lease has ended. Slurm itself never does.
func powerUpStatic(s *Step) {
	var names []string
	for _, m := range s.Nodes {
		if m.Static && m.Power == scene.Off && m.Idle() && m.State.Has(slurm.PoweredDown) &&
			!m.IsUnread && !m.Present() {
			names = append(names, m.Name)
		}
	}
	s.do(action.SetNodes{Nodes: names, State: "power_up", Why: "static nodes are always wanted"})
}

// renewStatic powers down idle static nodes shortly before their lease ends, so that the new lease
// starts without harm to a job. A node keeps its machine while a new request could not be made. If
// ten nodes are due and one place is free, they are renewed one at a time.
func renewStatic(s *Step) {
	p := placesOfStatic(s.Wanted)
	for _, m := range s.Nodes {
		early := m.Set.Flex.RenewBefore
		if early == 0 || !m.Static || m.Power != scene.On || !m.Idle() || len(m.Holders) > 0 ||
			m.State.Has(slurm.PowerDown) {
			continue
		}
		for _, in := range m.Machines {
			if left := in.Until().Sub(s.Seen.Now); !in.Until().IsZero() && s.IsOld(in.Until(), -early) && p.MayAsk(renewal(s.Wanted, m)) {
				p.Take(renewal(s.Wanted, m))
				why := fmt.Sprintf("%s in %s, and renew_before is %s", in.Ending(), slurm.Clock(max(left, 0)), slurm.Clock(early))
				s.do(action.SetNodes{
					Nodes: []string{m.Name}, State: "power_down", Reason: memo.ReasonPrefix + "renewed early: " + why, Why: action.Why(why),
				})
			}
		}
	}
}

// placesOfStatic counts the live requests, and the requests that static nodes without a machine
// will need. Nodes that an admin keeps out of service need none.
func placesOfStatic(w *demand.Wanted) rules.Places {
	p := rules.PlacesNow(w)
	for _, m := range w.Nodes {
		if m.Static && m.Owner == nil && (m.Power == scene.Off && comesBack(w.Scene, m) || m.Power == scene.Rising) &&
			len(m.Requests) == 0 {
			p.Take(renewal(w, m))
		}
	}
	return p
}

// comesBack reports whether a static node that is off will be powered up, perhaps only once Slurm
// has powered it down, the reservation for the end of its lease is deleted, or it is resumed.
func comesBack(s *scene.Scene, m *scene.Node) bool {
	if m.State.Has(slurm.PoweringDown) {
		return true
	}
	isForOthers := slices.ContainsFunc(m.Others, func(r *slurm.Reservation) bool { return !r.Start.After(s.Seen.Now) })
	_, resumes := bootedTooLate(m)
	return (m.State.Base != slurm.Down || resumes || memo.IsLost(m.Reason)) && !m.State.Has(slurm.Drain) && !m.State.Has(slurm.Fail) &&
		!(m.State.Has(slurm.Maintenance) && isForOthers)
}

// renewal returns the claim that a static node would have after it is powered down and up again.
func renewal(w *demand.Wanted, m *scene.Node) *demand.Claim {
	c := demand.NewClaim(w.Scene, m, nil, false, 0)
	c.Nodes, c.Lease = []string{m.Name}, scene.Lease(m.Set.Flex, nil)
	return c
}

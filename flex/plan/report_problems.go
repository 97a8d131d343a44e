package plan

import (
	"maps"
	"slices"
	"strings"

	"slurmflex/mig"
	"slurmflex/slurm"
)

// problemsOf are the problems with what was seen, and with how it could be read.
func problemsOf(w *wanted) []Problem {
	return slices.Concat(w.unreadable, unseenRegions(w.scene), unreadMembers(w.scene), skewedClock(w.scene), blockedSets(w.scene), unreadLimits(w), lateBoots(w.scene), leftByTrials(w.scene))
}

// problemsOfMachines are the problems with machines and nodes that are there.
func problemsOfMachines(s *scene, losses []Loss) []Problem {
	return slices.Concat(lostMachines(losses), billedOtherwise(s), doubles(s), unclearNodes(s))
}

func unseenRegions(s *scene) (ps []Problem) {
	for _, region := range slices.Sorted(maps.Keys(s.snap.Unseen)) {
		ps = append(ps, problem("unseen-region", region, "region %s could not be read, and nothing is done in it: %v", region, s.snap.Unseen[region]))
	}
	return ps
}

// unreadMembers names the groups that did not say what they hide.
func unreadMembers(s *scene) (ps []Problem) {
	for _, key := range slices.SortedFunc(maps.Keys(s.snap.Members), mig.GroupID.Compare) {
		if err := s.snap.Members[key].Err; err != nil {
			ps = append(ps, problem("unread-members", key.String(), "group %s counts machines that Compute does not list, and is left alone until its members can be listed: %v", key, err))
		}
	}
	return ps
}

// skewedClock names a clock that differs from Compute's.
func skewedClock(s *scene) []Problem {
	how, effect := "ahead of", "; slurmflex gives up nothing by age until it is correct"
	switch {
	case s.snap.Skew.Abs() <= maxSkew:
		return nil
	case s.snap.Skew < 0:
		how, effect = "behind", ""
	}
	return []Problem{problem("clock-skew", "", "the clock of this host is %s %s Compute's%s: synchronize it (chronyc tracking; chronyc makestep)",
		roughly(s.snap.Skew.Abs()), how, effect)}
}

func blockedSets(s *scene) (ps []Problem) {
	for _, b := range s.blocks() {
		ps = append(ps, problem("nodeset-blocked", b.NodeSet, "%s", blockedText(b.NodeSet, b.Failed)))
	}
	return ps
}

// unreadLimits names the jobs whose time limit decides a cohort's lease and is not
// understood.
func unreadLimits(w *wanted) (ps []Problem) {
	for _, c := range w.cohorts {
		if !c.set.Flex.UseJobDuration {
			continue
		}
		for _, j := range c.holders {
			if j.Limit.Kind == slurm.LimitUnknown {
				ps = append(ps, problem("time-limit", j.Name(), "%s: the time limit of job %s is not understood; its lease is %s", c.group, j.Name(), clock(c.lease)))
			}
		}
	}
	return ps
}

// lateBoots names the nodes whose instances did not come up in time.
func lateBoots(s *scene) (ps []Problem) {
	for _, set := range s.cfg.NodeSets {
		if b := s.boots[set]; b != nil && len(b.late) > 0 {
			ps = append(ps, problem("boot-timeout", set.Name, "%s: %s", slurm.Fold(b.late), bootText(set)))
		}
	}
	return ps
}

func lostMachines(losses []Loss) (ps []Problem) {
	for _, l := range losses {
		ps = append(ps, problem("machine-lost", slurm.Fold(l.Nodes), "%s; it was in use by job %d", l, l.Jobs[0]))
	}
	return ps
}

// billedOtherwise names the instances of ours that are of another provisioning model than
// their nodeset's, whatever their template says.
func billedOtherwise(s *scene) (ps []Problem) {
	for _, in := range s.machines { // by name
		if in.member == nil || !s.ours(in) || in.Leaving() || in.Unread != "" {
			continue
		}
		if set := in.member.set; in.Model != set.Flex.Capacity.Model() {
			ps = append(ps, problem("not-flex-start", in.Name, "instance %s is %s, not %s, and billed otherwise: correct instance template %s and delete it",
				in.Name, in.Model, set.Flex.Capacity.Model(), set.Template))
		}
	}
	return ps
}

// doubles names the nodes that have several machines: a name is unique in a zone
// only, and all but one cost money for nothing.
func doubles(s *scene) (ps []Problem) {
	for _, m := range s.members {
		var zones []string
		for _, in := range m.machines {
			if !in.Leaving() {
				zones = append(zones, in.Zone)
			}
		}
		if len(zones) > 1 {
			ps = append(ps, problem("several-machines", m.Name, "node %s has a machine in each of the zones %s; see which one Slurm uses (scontrol getaddrs %[1]s) and delete the others",
				m.Name, strings.Join(zones, ", ")))
		}
	}
	return ps
}

// unclearNodes names the nodes that are left alone because their state is not understood.
func unclearNodes(s *scene) (ps []Problem) {
	for _, m := range s.members {
		if m.power == unclear && !s.isSkipped(slurm.NodeRow, m.Name) {
			ps = append(ps, problem("state-unknown", m.Name, "node %s is left alone: state %s is not understood", m.Name, m.State))
		}
	}
	return ps
}

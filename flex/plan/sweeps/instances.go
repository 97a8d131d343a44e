package sweeps

import (
	"maps"
	"slices"

	"slurmflex/flex/plan/action"
	"slurmflex/flex/plan/demand"
	"slurmflex/flex/plan/rules"
	"slurmflex/flex/plan/scene"
	"slurmflex/mig"
	"slurmflex/slurm"
)

// deleteInstances deletes our instances of nodes that Slurm has powered down. Within
// max_deletions_per_pass, it also deletes our instances that are no longer needed, and then the
// remains of slurm-gcp. It never deletes the instance of a node with a running job.
func deleteInstances(w *demand.Wanted, _ []rules.Verdict) (s Step) {
	b := budget{left: w.Config.Options.MaxDeletions}
	gone := map[mig.GroupID]*departure{} // instances without a group have the zero ID
	for _, in := range w.Machines() {
		if !w.Ours(in) {
			continue
		}
		reason, stopped := useless(w, in, &b)
		if in.Leaving() && !stopped {
			s.Expect = append(s.Expect, "instance "+in.Name+" to be gone")
			continue
		}
		if reason == "" {
			continue
		}
		key := in.GroupID()
		if in.Group == "" {
			key = mig.GroupID{}
		}
		d := gone[key]
		if d == nil {
			d = &departure{}
			gone[key] = d
		}
		d.instances, d.why = append(d.instances, *in.Instance), action.Why(reason)
	}
	for _, key := range slices.SortedFunc(maps.Keys(gone), mig.GroupID.Compare) {
		instances, reason := gone[key].instances, gone[key].why
		if key == (mig.GroupID{}) {
			s.Actions = append(s.Actions, action.DeleteVMs{Instances: instances, Why: reason})
		} else {
			g := w.Group(key)
			s.Actions = append(s.Actions, action.DeleteInstances{Of: action.ForGroup(g), Instances: instances, Why: reason})
		}
		s.Expect = append(s.Expect, "instances "+slurm.Fold(mig.Names(instances))+" to be gone")
	}
	s.Actions = append(s.Actions, adopt(w.Scene, &b)...)
	s.Problems = b.problems
	return s
}

// departure collects the instances that one call deletes.
type departure struct {
	instances []mig.Instance
	why       action.Why // the reason for the last instance
}

// budget limits how many instances may be deleted without a power-down from Slurm.
type budget struct {
	left     int
	problems []scene.Problem
}

// unasked counts a deletion without a power-down from Slurm, and returns its reason. It returns an
// empty reason once the budget is spent.
func (b *budget) unasked(why string) string {
	if b.left == 0 {
		b.problems = append(b.problems, scene.NewProblem("max-deletions", why, "more instances must be deleted than max_deletions_per_pass allows; if slurmctld lost its state, restore its StateSaveLocation, otherwise wait: %s", why))
		return ""
	}
	b.left--
	return why
}

// useless returns why an instance of ours must be deleted; empty if it is kept. A stopped instance
// is useless: a flex-start instance can never be started again.
func useless(w *demand.Wanted, in scene.Machine, b *budget) (why string, stopped bool) {
	m := in.Node
	stopped = in.Stopped()
	switch {
	case in.Unread != "":
		return "", false
	case w.IsOutsider(*in.Instance):
		return "", stopped
	case m != nil && (m.Doubted || w.IsKept(m)):
		return "", stopped
	case m != nil && m.Power == scene.Off && len(m.Holders) == 0 && (stopped || m.IsPoweredDown(in)):
		return "Slurm has powered its nodes down", stopped
	case m != nil && m.Power == scene.Off && len(m.Holders) == 0:
		return b.unasked("its node is powered down, and Slurm does not know that it ever was up"), stopped
	case m != nil && stopped && (m.Power == scene.Rising || m.State.Has(slurm.NotResponding)):
		return b.unasked("it is stopped, and cannot be started again"), stopped
	case m != nil && w.IsLeftover(m, in):
		return b.unasked("it is from before its node was last allocated, and cannot serve the job that waits there"), stopped
	case m != nil && isReplaced(w, m):
		return b.unasked("it did not join Slurm within boot_timeout, and Slurm would end the job that waits for it"), stopped
	case m == nil && w.IsOrphaned(in.Name) && w.IsOld(in.Created, scene.OrphanedAfter):
		return b.unasked("the configuration knows no node of that name"), stopped
	}
	return "", stopped
}

package sweeps

import (
	"maps"
	"slices"

	"slurmflex/flex/plan/action"
	"slurmflex/flex/plan/scene"
	"slurmflex/mig"
	"slurmflex/slurm"
)

// deleteInstances deletes our instances of nodes that Slurm has powered down. Within
// max_deletions_per_pass, it also deletes our instances that are no longer needed, and then the
// remains of slurm-gcp. It never deletes the instance of a node with a running job.
func deleteInstances(s *Step) {
	b := budget{s, s.Config.Options.MaxDeletions}
	gone := map[mig.GroupID][]mig.Instance{} // instances without a group have the zero ID
	why := map[mig.GroupID]action.Why{}      // the reason for the last instance
	for _, in := range s.Machines {
		if !in.Ours {
			continue
		}
		reason := b.useless(in)
		if in.Leaving() && (!in.Stopped() || in.Unread != "") {
			s.Soon = true // the instance will be gone
			continue
		}
		if reason == "" {
			continue
		}
		key := in.GroupID()
		if in.Group == "" {
			key = mig.GroupID{}
		}
		gone[key], why[key] = append(gone[key], *in.Instance), action.Why(reason)
	}
	for _, key := range slices.SortedFunc(maps.Keys(gone), mig.GroupID.Compare) {
		if key == (mig.GroupID{}) {
			s.do(action.DeleteVMs{Instances: gone[key], Why: why[key]})
		} else {
			s.do(action.DeleteInstances{Of: action.ForGroup(s.Group(key).Usable), Instances: gone[key], Why: why[key]})
		}
		s.Soon = true // they will be gone
	}
	b.adopt()
}

// budget limits how many instances a step may delete without a power-down from Slurm.
type budget struct {
	*Step
	left int
}

// unasked counts a deletion without a power-down from Slurm, and returns its reason. It returns an
// empty reason once the budget is spent.
func (b *budget) unasked(why string) string {
	if b.left == 0 {
		b.Problems.Add("max-deletions", why, "more instances must be deleted than max_deletions_per_pass allows; if slurmctld lost its state, restore its StateSaveLocation, otherwise wait: %s", why)
		return ""
	}
	b.left--
	return why
}

// useless returns why an instance of ours must be deleted; empty if it is kept. A stopped instance
// is useless: a flex-start instance can never be started again.
func (b *budget) useless(in scene.Machine) (why string) {
	m, stopped := in.Node, in.Stopped()
	switch {
	case in.Unread != "":
		return ""
	case in.Outsider:
		return ""
	case m != nil && (m.Doubted || b.IsKept(m)):
		return ""
	case m != nil && m.Power == scene.Off && len(m.Holders) == 0 && (stopped || m.IsPoweredDown(in)):
		return "Slurm has powered its nodes down"
	case m != nil && m.Power == scene.Off && len(m.Holders) == 0 && b.isTheDaemons(in):
		return ""
	case m != nil && m.Power == scene.Off && len(m.Holders) == 0:
		return b.unasked("its node is powered down, and Slurm does not know that it ever was up")
	case m != nil && stopped && (m.Power == scene.Rising || m.State.Has(slurm.NotResponding)):
		return b.unasked("it is stopped, and cannot be started again")
	case in.Leftover:
		return b.unasked("it is from before its node was last allocated, and cannot serve the job that waits there")
	case m != nil && isReplaced(b.Wanted, m):
		return b.unasked("it did not join Slurm within boot_timeout, and Slurm would end the job that waits for it")
	case m == nil && b.IsOrphaned(in.Name) && b.IsOld(in.Created, scene.OrphanedAfter):
		return b.unasked("the configuration knows no node of that name")
	}
	return ""
}

// isTheDaemons reports whether the daemon may keep the machine, which has not registered, for a job
// that waits. Only the daemon hands out such machines. Its cover shows other processes that it runs, or
// has run until a few minutes ago.
func (b *budget) isTheDaemons(in scene.Machine) bool {
	m := in.Node
	return !b.Seen.Promises && m.Cover && in.Origin.ForJobs() && !b.IsOld(in.Created, scene.OrphanedAfter) &&
		slices.ContainsFunc(b.Queue(), func(j *slurm.Job) bool {
			return j.State.Waits() && j.Priority > 0 && slices.Contains(b.PlacesOf(nil, j), m.Set)
		})
}

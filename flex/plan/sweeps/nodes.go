package sweeps

import (
	"strings"

	"slurmflex/flex/plan/action"
	"slurmflex/flex/plan/memo"
	"slurmflex/flex/plan/scene"
	"slurmflex/slurm"
)

// powerDownOrphans powers down rising nodes without a job: the job was cancelled or requeued. Slurm
// itself would leave them as they are, or place another job on them without calling slurmflex. It
// leaves nodes to the admin that are DOWN or that no health check has drained.
func powerDownOrphans(s *Step) {
	var orphans []string
	for _, m := range s.Nodes {
		if m.Power != scene.Rising || s.ClaimOf(m) != nil || len(m.Holders) > 0 || m.IsUnread {
			continue
		}
		switch {
		case m.State.Held():
			s.Soon = true // the node loses or shows its job
		case m.State.IsIdle() && !m.State.Has(slurm.Fail) && (!m.State.Has(slurm.Drain) || m.IsChecked):
			orphans = append(orphans, m.Name)
		}
	}
	s.do(action.SetNodes{
		Nodes: orphans, State: "power_down_force", Reason: memo.ReasonPrefix + "no job waits for this node any more",
		Why: "no job waits for them any more",
	})
}

// resumeEmpty makes nodes usable again that are powering down and have lost their machine, because
// Slurm would wait for SuspendTimeout. It does the same for nodes that ResumeTimeout set DOWN, once
// their machines and requests are gone, and for nodes that slurmflex set DOWN while Slurm was
// already powering them down. A health check may drain a node when its machine is already deleted:
// resume would keep such a node from backfill, if power_down_force has powered it down before.
func resumeEmpty(s *Step) {
	var empty, tooLate, lost, drained, draining []string
	for _, m := range s.Nodes {
		switch {
		case !m.IsDrainedInVain:
		case m.State.Has(slurm.PoweringDown):
			draining = append(draining, m.Name)
		default:
			drained = append(drained, m.Name)
		}
		if m.Power != scene.Off || m.Taken() || m.Present() || m.IsUnread || s.Sets[m.Set].Ahead {
			continue
		}
		switch {
		case m.State.Has(slurm.PoweringDown) && m.Idle():
			empty = append(empty, m.Name)
		case m.State.Has(slurm.PoweredDown) && m.State.Base == slurm.Down && memo.IsLost(m.Reason):
			lost = append(lost, m.Name)
		case m.State.Has(slurm.PoweredDown) && m.State.Base == slurm.Down:
			switch late, resumes := bootedTooLate(m); {
			case resumes:
				tooLate = append(tooLate, m.Name)
			case late:
				s.Problems.Add("resume-timeout", m.Name, "node %s failed to boot in time and stays down because of the reason %q: "+
					"scontrol update nodename=%[1]s state=resume", m.Name, m.Reason)
			}
		}
	}
	s.do(
		action.SetNodes{Nodes: empty, State: "resume", Why: "their machines are gone"},
		action.SetNodes{Nodes: lost, State: "resume", Why: "they were powered down when their machines were lost"},
		action.SetNodes{Nodes: draining, State: "resume", Why: "a health check drained them, and their machines are gone"},
		action.SetNodes{Nodes: drained, State: "idle", Why: "a health check drained them, and their machines are gone"},
		action.SetNodes{Nodes: tooLate, State: "resume", Why: "ResumeTimeout was reached, and what was asked for them is withdrawn"},
	)
}

// bootedTooLate reports whether ResumeTimeout set the node DOWN, and whether it can be resumed,
// because an admin gave no reason against that.
func bootedTooLate(m *scene.Node) (late, resumes bool) {
	before, late := strings.CutSuffix(m.Reason, scene.ResumeTimeoutReached)
	return late, late && (before == "" || memo.IsOurReason(before))
}

// openToBackfill sets nodes idle that slurmflex has powered down. Backfill ignores a node after
// power_down_force until its slurmd registers, slurmctld restarts or the node is set idle. The node
// remains powered down. If a job has been allocated one of the nodes meanwhile, Slurm refuses the
// change for that node and changes the others. The node's Reason shows that slurmflex has changed
// it; a node that lost its Reason is usable.
func openToBackfill(s *Step) {
	var names []string
	for _, m := range s.Nodes {
		if m.Power == scene.Off && m.Idle() && !m.Taken() && m.State.Has(slurm.PoweredDown) &&
			memo.IsOurReason(m.Reason) && m.Reason != memo.Usable {
			names = append(names, m.Name)
		}
	}
	s.do(action.SetNodes{
		Nodes: names, State: "idle", Reason: memo.Usable, Why: "backfill may ignore them since slurmflex powered them down",
	})
}

// powerDownOnIdle marks the nodes of exclusive jobs, so that they are powered down as soon as their
// job ends. In a partition with PowerDownOnIdle, Slurm has already set the mark; Slurm 22.05 does
// not have that setting. With keep_idle or salvage nothing is marked, because an allocated node
// cannot be unmarked. A job that gang_timeout returns is the exception: without the mark it would
// get the same nodes again and wait as before.
func powerDownOnIdle(s *Step) {
	incomplete := map[*slurm.Job]bool{}
	for _, v := range s.verdicts {
		if v.Gone && v.Claim.Incomplete != "" {
			incomplete[v.Claim.Job] = true
		}
	}
	var names []string
	for _, m := range s.Nodes {
		job := m.Owner
		if job == nil || m.Door != nil && m.Door.Taker == job || (m.Set.Flex.KeepIdle > 0 || m.Set.Flex.Salvage) && !incomplete[job] || m.Static || !s.Config.Exclusive(job.Partition) || m.State.Has(slurm.PowerDown) {
			continue
		}
		if m.Power == scene.On || m.Power == scene.Rising && m.State.Has(slurm.PoweringUp) {
			names = append(names, m.Name)
		}
	}
	s.do(action.SetNodes{Nodes: names, State: "power_down", Why: "exclusive partition: power down after the job"})
}

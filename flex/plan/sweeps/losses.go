package sweeps

import (
	"slices"
	"time"

	"slurmflex/flex/plan/action"
	"slurmflex/flex/plan/memo"
	"slurmflex/flex/plan/report"
	"slurmflex/flex/plan/scene"
	"slurmflex/slurm"
)

// takeDownLost sets a job's nodes DOWN when their machines are lost, so that Slurm requeues the job
// at once instead of after SlurmdTimeout. One update sets all lost nodes of a job: once the job is
// requeued, Slurm powers down those that are not DOWN. takeDownLost leaves a node that an admin
// drains to Slurm. It powers down a node that a pending job waits for: the job keeps its door and its
// other machines. The owner is notified first. Slurm releases the node by itself anyway, so
// nothing is lost if the AdminComment cannot be written for a while.
func takeDownLost(s *Step) {
	lost := map[string]bool{}
	for _, m := range s.Nodes {
		if m.IsWithdrawn() {
			continue
		}
		switch broken := func(in scene.Machine) bool { return in.Lost() }; {
		case m.LostBy == "" && m.State.Power() == scene.On && m.Owner != nil && !s.Seen.Missed[m.Name] && slices.ContainsFunc(m.Machines, broken):
			s.Soon = true // the machine runs, or is broken in another list, too
		case m.LostBy == "":
		case !m.IsLost:
			s.Soon = true // the machine shows again, or is missing again
		case waitsBehindDoor(m) && m.State.Has(slurm.PowerDown):
			s.Soon = true // its power-down starts
		case m.Owner != nil && !s.AreCovered(m.Owner):
			s.Soon = true // the job's other nodes are closed
		case m.Owner != nil:
			lost[m.Name] = true
		}
	}
	if len(lost) == 0 {
		return
	}
	var downs []action.Action
	for _, l := range s.Losses {
		l.Nodes = slices.DeleteFunc(slices.Clone(l.Nodes), func(node string) bool { return !lost[node] })
		if why := l.String(); len(l.Nodes) > 0 {
			down := action.SetNodes{Nodes: l.Nodes, State: "down", Reason: memo.Lost + why, Jobs: l.Jobs, Why: action.Why(why)}
			if waitsBehindDoor(s.Node(l.Nodes[0])) {
				down.State = "power_down_force" // no job runs there
			}
			for _, id := range l.Jobs {
				s.notify(id, report.LossComment(s.Wanted, s.Jobs[id], why), action.About(down).Queue)
			}
			downs = append(downs, down)
		}
	}
	s.do(downs...)
}

// waitsBehindDoor reports whether a pending job waits for the node behind a door that has not opened.
func waitsBehindDoor(m *scene.Node) bool {
	return m.Door != nil && !m.Door.Opened && m.Owner != nil && m.Owner == m.Door.Taker
}

// recoverVanished powers down nodes without a job that have lost their machine. A machine counts as
// lost if slurmflex has set its node DOWN or two passes found it lost. It also counts as lost if
// Compute shows nothing for the node and either the lease has ended or the node does not respond to
// Slurm. recoverVanished leaves a node with a job to Slurm until the job has left the node, and one that
// an admin has drained to the admin.
func recoverVanished(s *Step) {
	for _, m := range s.Nodes {
		reboots := m.State.Flags&(slurm.RebootRequested|slurm.RebootIssued) != 0 // ASAP drains it, until ResumeTimeout
		out := m.State.Has(slurm.Drain) && !m.IsDrainedByCheck() && !reboots || m.State.Has(slurm.Fail)
		if m.Power != scene.On || m.IsUnread || len(m.Holders) > 0 || m.State.Held() || out {
			continue
		}
		ended, lost := !m.Ended.IsZero(), m.IsTakenDown() || m.IsLost
		if !lost && (m.Present() || !ended && !m.State.Has(slurm.NotResponding)) {
			continue
		}
		why := "its instance is gone"
		switch {
		case ended && m.Set.Flex.MaxRunDuration == 0:
			why = "maintenance of its host began at " + m.Ended.Format(time.RFC3339)
		case ended:
			why = "its lease ended at " + m.Ended.Format(time.RFC3339)
		case lost && len(m.Machines) > 0:
			why = "its instance is " + m.Machines[0].Status
		}
		s.do(powerDown("power_down_force", why, m.Name))
	}
}

// reportDown reports DOWN nodes without a job if their machines run and are billed, or are
// requested. slurmflex leaves them to the admin: either an admin set them DOWN to examine the
// machine, or the node's slurmd has failed. Slurm also shows nodes as DOWN that scontrol reboots.
func reportDown(s *Step) {
	for _, m := range s.Nodes {
		if m.Power == scene.On && m.State.Base == slurm.Down && m.State.Flags&(slurm.PowerDown|slurm.RebootIssued) == 0 && !m.Taken() && !m.IsTakenDown() &&
			(m.HasMachine() || len(m.Requests) > 0) {
			s.Problems.Add("down-machine", m.Name, "node %s is DOWN, and its machine runs or is requested for no job: "+
				"scontrol update nodename=%[1]s state=resume returns the node, state=power_down deletes the machine", m.Name)
		}
	}
}

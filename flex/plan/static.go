package plan

import (
	"fmt"
	"strings"
	"time"

	"slurmflex/slurm"
)

// powerUpStatic powers up the static nodes that are down for no reason: at the
// cluster's start, and when their lease has ended. Slurm itself never does.
func (w *world) powerUpStatic() {
	var names []string
	for _, m := range w.members {
		if m.set.IsStatic(m.index) && m.power == down && m.idle() && m.State.Has(slurm.PoweredDown) &&
			!w.isUnread(m) && !w.present(m.Name) {
			names = append(names, m.Name)
		}
	}
	w.setNodes(SetNodes{Nodes: names, State: "power_up", Why: "static nodes are always wanted"})
}

// renewStatic powers idle static nodes down shortly before their lease ends, so
// that the new one begins at a time when no job is hurt.
func (w *world) renewStatic() {
	for _, m := range w.members {
		early := m.set.Flex.RenewBefore
		if early == 0 || !m.set.IsStatic(m.index) || m.power != up || !m.idle() || len(m.jobs) > 0 ||
			m.State.Has(slurm.PowerDown) {
			continue
		}
		for _, in := range m.machines {
			if left := in.Terminates.Sub(w.snap.Now); !in.Terminates.IsZero() && w.isOld(in.Terminates, -early) {
				why := fmt.Sprintf("its lease ends in %s, and renew_before is %s", clock(max(left, 0)), clock(early))
				w.setNodes(SetNodes{
					Nodes: []string{m.Name}, State: "power_down", Reason: ReasonPrefix + "renewed early: " + why, Why: Why(why),
				})
			}
		}
	}
}

// recoverVanished powers down the nodes whose machine is gone: the cloud was
// read and has none of that name, and its lease has ended or Slurm gets no answer
// from it either. A node with a job is left to Slurm until it has given the node up.
func (w *world) recoverVanished() {
	for _, m := range w.members {
		if m.power != up || w.present(m.Name) || w.isUnread(m) ||
			len(m.jobs) > 0 || m.State.Held() || m.State.Has(slurm.Drain) || m.State.Has(slurm.Fail) {
			continue
		}
		end, ended := w.endOf(m.Name)
		if !ended && !m.State.Has(slurm.NotResponding) {
			continue
		}
		why := "its instance is gone"
		if ended {
			why = "its lease ended at " + end.Format(time.RFC3339)
		}
		w.setNodes(SetNodes{
			Nodes: []string{m.Name}, State: "power_down_force", Reason: ReasonPrefix + why, Why: Why(why),
		})
	}
}

// releaseEmpty makes nodes usable again that are powering down with no machine
// left: Slurm would wait for SuspendTimeout. ResumeTimeout leaves nodes down;
// they go back into the pool too, once what was asked for them is gone.
func (w *world) releaseEmpty() {
	var empty, tooLate []string
	for _, m := range w.members {
		if m.power != down || m.taken() || w.present(m.Name) || w.isUnread(m) || w.ahead[m.set.Name] {
			continue
		}
		switch {
		case m.State.Has(slurm.PoweringDown) && m.idle():
			empty = append(empty, m.Name)
		case m.State.Has(slurm.PoweredDown) && m.State.Base == slurm.Down:
			switch before, late := strings.CutSuffix(m.Reason, resumeTimeoutReached); {
			case late && (before == "" || strings.HasPrefix(before, ReasonPrefix)):
				tooLate = append(tooLate, m.Name)
			case late:
				w.problem(fmt.Sprintf("node %s did not come up in time and stays down, for somebody gave the reason %q: "+
					"scontrol update nodename=%[1]s state=resume", m.Name, m.Reason))
			}
		}
	}
	w.setNodes(SetNodes{Nodes: empty, State: "resume", Why: "their machines are gone"})
	w.setNodes(SetNodes{Nodes: tooLate, State: "resume", Why: "ResumeTimeout was reached, and what was asked for them is withdrawn"})
}

// resumeTimeoutReached is the reason that slurmctld gives such a node. By 24.11
// it is put behind the reason that the node had, and a colon.
const resumeTimeoutReached = "ResumeTimeout reached"

// idle reports whether the node is idle and nobody has taken it out of service.
func (m *member) idle() bool {
	return m.State.IsIdle() && !m.State.Held() && !m.State.Has(slurm.Drain) && !m.State.Has(slurm.Fail) &&
		!m.State.Has(slurm.Maintenance)
}

// present reports whether anything of the node's is in the cloud still: an
// instance, whatever its state, or a live request.
func (w *world) present(node string) bool {
	return len(w.instances[node]) > 0 || len(w.requests[node]) > 0
}

// Package report names what each claim waits for: one demand.Wait, built once in a pass, after the
// verdicts. AdminComments, problems and views render it.
package report

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"slurmflex/config"
	"slurmflex/flex/plan/action"
	"slurmflex/flex/plan/demand"
	"slurmflex/flex/plan/rules"
	"slurmflex/flex/plan/scene"
	"slurmflex/mig"
	"slurmflex/slurm"
)

// NameWaits builds the waits of each claim, after it has added to the verdict that calls fail.
func NameWaits(w *demand.Wanted, verdicts []rules.Verdict) {
	nameFailing(w, verdicts)
	back := map[uint32]*action.ReturnNodes{}
	for _, v := range verdicts {
		if v.Do == rules.Returns {
			back[v.Return.Job] = v.Return
		}
	}
	for i := range verdicts {
		v := &verdicts[i]
		v.Queued, v.Lacking = waitsFor(w, *v)
		if c := v.Claim; c.Job != nil && back[c.Job.ID] != nil {
			markReturned(&v.Queued, back[c.Job.ID])
			markReturned(&v.Lacking, back[c.Job.ID])
		}
	}
}

// markReturned marks the wait as one that ends in this pass.
func markReturned(n *demand.Wait, a *action.ReturnNodes) {
	n.Stage, n.Obstacle, n.Then = demand.Returning, a.Reason, a.Then
}

// Waits returns the waits of the claims that lack machines, and of the nodes that Slurm does not
// power up for their job.
func Waits(w *demand.Wanted, verdicts []rules.Verdict) (waits []demand.Wait) {
	waits = make([]demand.Wait, 0, len(verdicts))
	for _, v := range verdicts {
		for _, wait := range []demand.Wait{v.Queued, v.Lacking} {
			if len(wait.Nodes) > 0 {
				waits = append(waits, wait)
			}
		}
	}
	return append(append(waits, unready(w.Scene)...), unshownWaits(w.Scene)...)
}

// waitsFor returns two waits: one for the claim's nodes that its live request names, and one for
// those without a request. A wait without nodes is over.
func waitsFor(w *demand.Wanted, v rules.Verdict) (queued, lacking demand.Wait) {
	c := v.Claim
	var asked, rest []string
	for _, name := range w.WithoutMachine(c.Nodes) {
		if c.Live != nil && c.Live.Request.Names(name) && (v.Failing.Times == 0 || !w.Seen.Asking[name]) {
			asked = append(asked, name)
		} else {
			rest = append(rest, name)
		}
	}
	wait := demand.Wait{NodeSet: c.Set.Name, Region: c.Set.Region, Group: c.Group, Lease: c.Lease, Since: c.WaitsSince()}
	if c.Job != nil {
		wait.Job = c.Job.ID
	}
	end := waitEnds(w, c)
	wait.Until, wait.Then, wait.By = end.At, end.Then, end.By
	if c.Live != nil {
		queued = wait
		live := c.Live.Request
		queued.Nodes, queued.Region, queued.Group = asked, c.Live.Group.Region, c.Live.Group.Name
		queued.Request, queued.Requested, queued.Lease, queued.Trouble = live.Name, live.Created, live.Duration, live.Trouble
		if queued.Since.IsZero() {
			queued.Since = live.Created
		}
		if queued.Stage = demand.Queued; live.State == mig.Creating {
			queued.Stage = demand.Requesting
		}
		queued.Obstacle = cmp.Or(withdrawnFrom(w.Scene, c.Door), c.Overtaken(w.Scene))
	}
	lacking = wait
	lacking.Nodes, lacking.Failed, lacking.Next, lacking.Failing = rest, v.Failed, v.Next, v.Failing
	if _, lacking.Trouble, _ = c.Failures(w.Scene); v.Failing.Times > 0 {
		lacking.Failed, lacking.Trouble = v.Failing.Times, v.Failing.Trouble
	}
	if v.Do != rules.Returns && v.Do != rules.PowersDown {
		lacking.Obstacle = v.Why
	}
	if lacking.Stage = demand.Requesting; lacking.Obstacle != "" {
		lacking.Stage = demand.Waiting
	}
	return queued, lacking
}

// unready returns the waits of nodes that Slurm has allocated to a job and does not power up.
// slurmflex requests no machine until Slurm does.
func unready(s *scene.Scene) (waits []demand.Wait) {
	for _, m := range s.Nodes {
		job := m.Owner
		if job == nil || job.State.AtWork() || m.Power != scene.Off && m.Power != scene.Unclear || m.HasMachine() {
			continue
		}
		obstacle := "Slurm is powering it down, and powers it up again after that"
		if m.Power == scene.Unclear {
			obstacle = fmt.Sprintf("Slurm shows it as %s, which slurmflex does not understand", m.State)
		}
		waits = append(waits, unstarted(job, m.Set, m.Name, obstacle))
	}
	return waits
}

// unstarted returns the wait of a node that a job was allocated, and that no machine is requested for.
func unstarted(job *slurm.Job, set *config.NodeSet, node, obstacle string) demand.Wait {
	return demand.Wait{Job: job.ID, NodeSet: set.Name, Region: set.Region, Nodes: []string{node}, Since: job.Start, Stage: demand.Waiting, Obstacle: obstacle}
}

// unshownWaits returns the waits of nodes that a job was allocated and that Slurm's node list does
// not show, because a row without a name could not be read.
func unshownWaits(s *scene.Scene) (waits []demand.Wait) {
	for _, name := range s.UnshownNodes() {
		set, _, ok := s.Config.Find(name)
		waiting := slices.DeleteFunc(slices.Clone(s.Named(name).Holders), func(j *slurm.Job) bool { return j.State.AtWork() })
		if !ok || set.Flex == nil || s.Named(name).HasMachine() || len(waiting) == 0 {
			continue
		}
		waits = append(waits, unstarted(slices.MinFunc(waiting, scene.ByImportance), set, name, unshownText))
	}
	return waits
}

// Recall returns the current waits, and for unread regions the waits as they were last known.
// Where nothing was requested then, nothing is requested now, and the obstacle is the unread
// region. A node that waits in a readable region, because its nodeset has moved there, appears only
// in that region.
func Recall(snap scene.Snapshot, now, known []demand.Wait) []demand.Wait {
	recalled := func(n demand.Wait) bool { _, ok := snap.LastKnown[n.Region]; return ok }
	waits := slices.DeleteFunc(now, recalled)
	read := map[string]bool{}
	for _, n := range waits {
		for _, name := range n.Nodes {
			read[name] = true
		}
	}
	for _, n := range known {
		if n.Nodes = slices.DeleteFunc(slices.Clone(n.Nodes), func(name string) bool { return read[name] }); !recalled(n) || len(n.Nodes) == 0 {
			continue
		}
		switch {
		case n.Request == "":
			n.Stage, n.Obstacle = demand.Waiting, snap.UnreadText(n.Region)
			n.Failed, n.Next, n.Failing = 0, time.Time{}, scene.Failing{}
		case n.Stage == demand.Returning: // slurmflex returns no nodes in an unread region
			n.Stage, n.Obstacle, n.Then = demand.Queued, "", ""
		}
		if !n.Until.After(snap.Now) {
			n.Until, n.Then, n.By = time.Time{}, "", ""
		}
		waits = append(waits, n)
	}
	return waits
}

// waitEnds returns when a claim's wait ends, and what happens to its job then. The wait never ends
// if Slurm would end the job instead of requeueing it.
func waitEnds(w *demand.Wanted, c *demand.Claim) rules.WaitEnd {
	end := rules.EndOfWait(w, c)
	if c.Job == nil || end.Then != action.Cancel && w.WouldEnd(c.Holders) {
		return rules.WaitEnd{}
	}
	return end
}

const unshownText = "no row of Slurm's list of nodes shows it, as far as the list can be read"

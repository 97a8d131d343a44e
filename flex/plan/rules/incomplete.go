package rules

import (
	"fmt"
	"slices"
	"time"

	"slurmflex/config"
	"slurmflex/flex/plan/action"
	"slurmflex/flex/plan/demand"
	"slurmflex/flex/plan/scene"
	"slurmflex/slurm"
)

// incompleteAllocation returns a job to Slurm if its allocation is still incomplete after
// gang_timeout.
func incompleteAllocation(w *demand.Wanted, c *demand.Claim) Ruling {
	if c.Incomplete == "" {
		return Ruling{}
	}
	return giveUp(w, c, action.Requeue, false, "gang-timeout", c.Incomplete)
}

// noteIncomplete notes the claims of incomplete allocations: for longer than gang_timeout, some of
// the job's nodes have had machines and others have not. The existing machines are billed and
// unusable meanwhile. The least important job is returned to Slurm first. Jobs may each hold the
// machines that the other lacks. A job that lacks nodes of a nodeset with machines that are being
// released therefore waits for up to one further gang_timeout. A job that keeps machines behind a
// door after a loss has salvage_timeout instead.
func noteIncomplete(w *demand.Wanted) {
	going, left := map[uint32]bool{}, beingLeft(w)
	for _, c := range slices.Backward(w.Claims) {
		limit := c.Set.Flex.GangTimeout
		if c.Door != nil && len(w.Survivors(c.Door)) > 0 || limit == 0 || c.Job == nil || c.Stamp.Node != "" || going[c.Job.ID] || w.Unseen(c.Set.Region) || unreadOf(w.Scene, c) != "" {
			continue
		}
		there, since := came(w.Scene, c.Job)
		others := takeable(w.Scene, c.Job, false)
		for _, name := range others { // its machine may have come and failed its health check
			since = scene.Later(since, w.Node(name).BootTime)
		}
		if there == 0 || !w.IsOld(since, limit) {
			continue
		}
		hope := slices.ContainsFunc(others, func(n string) bool { return left[w.Node(n).Set] })
		if len(others) == 0 || hope && !w.IsOld(since, 2*limit) {
			continue
		}
		c.Incomplete = fmt.Sprintf("%s arrived at %s but %s did not within gang_timeout %s",
			action.Amount(there, "node"), since.UTC().Format("15:04:05"), action.Amount(len(others), "other"), slurm.Clock(limit))
		if w.WouldEnd(holdersOf(w.Scene, others)) {
			continue
		}
		going[c.Job.ID] = true
		for _, m := range w.NodesNamed(c.Job.Nodes) {
			left[m.Set] = left[m.Set] || !slices.Contains(others, m.Name)
		}
	}
}

// beingLeft returns the nodesets with a machine that is being deleted or no longer has a job.
func beingLeft(w *demand.Wanted) map[*config.NodeSet]bool {
	left := map[*config.NodeSet]bool{}
	for _, in := range w.Machines {
		if m := in.Node; m != nil && in.Ours && !m.Static && (in.Leaving() || m.Owner == nil) {
			left[m.Set] = true
		}
	}
	return left
}

// came counts the job's nodes with a machine that was created for this job or was kept, and returns
// when the first such machine became available to the job. A machine from before the allocation
// became available with the allocation.
func came(s *scene.Scene, job *slurm.Job) (n int, since time.Time) {
	for _, name := range job.Nodes {
		for _, in := range s.Named(name).Machines {
			kept := in.Node != nil && in.Node.Set.Flex.KeepIdle > 0 && in.Node.Power == scene.On && !job.Start.IsZero()
			if !in.Ours || !scene.IsFor(in.Origin, job) && !kept || in.Leaving() {
				continue
			}
			n++
			if at := scene.Later(in.Created, job.Start); since.IsZero() || at.Before(since) {
				since = at
			}
		}
	}
	return n, since
}

package rules

import (
	"slices"
	"time"

	"slurmflex/flex/plan/demand"
	"slurmflex/flex/plan/scene"
)

// slurmLooks is how long Slurm may take to look at a job again after a change to it. By default its
// backfill tries the queue every 30 s (bf_interval), and its main scheduler every minute
// (sched_interval).
const slurmLooks = time.Minute

// doorFirst: machines for a job that waits pending are requested only behind a door that stays, once
// the job uses one of its doors and Slurm has looked at it since. Until then Slurm may refuse the
// job the door, and may show for seconds that a job which waits for a time or for another job lacks
// only nodes. The change of the job's reservation clears its reason (tried on 22.05 and 26.05).
func doorFirst(w *demand.Wanted, c *demand.Claim) Ruling {
	if c.Door == nil {
		return Ruling{}
	}
	what := ""
	switch d := c.Door; {
	case !d.Named && !slices.ContainsFunc(d.Rivals, func(r *scene.Door) bool { return r.Named }) && !(w.Handed.Leaves[d] && w.Group(c.ID()).Usable != nil):
		what = "slurmctld to let it use its reservation"
	case d.Job.Reason == "None" && !w.IsOld(d.At, slurmLooks):
		what = "Slurm to look at job " + d.Address + " again"
	default:
		return Ruling{}
	}
	return Ruling{Do: Waits, Quiet: true, Why: "waiting for " + what, Soon: true, atDoor: true}
}

// Needed returns the nodes whose machines may be requested: those of the claims that get a request
// now, and those of requests that an earlier pass is still making.
func Needed(w *demand.Wanted, verdicts []Verdict) map[string]bool {
	needed := map[string]bool{}
	for _, v := range verdicts {
		if v.Gone || v.Do != Requests && !v.UnderWay || doorFirst(w, v.Claim).Do != Unsaid {
			continue
		}
		for _, name := range v.Claim.Nodes {
			needed[name] = true
		}
	}
	return needed
}

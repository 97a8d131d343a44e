package rules

import (
	"fmt"
	"strings"
	"time"

	"slurmflex/flex/plan/action"
	"slurmflex/flex/plan/demand"
	"slurmflex/flex/plan/memo"
	"slurmflex/flex/plan/scene"
	"slurmflex/mig"
)

// The wait before another attempt doubles from firstRetry up to lastRetry.
const (
	firstRetry = 60 * time.Second
	lastRetry  = 1800 * time.Second
)

// retryAfter returns the wait after a number of consecutive failures.
func retryAfter(failures int) time.Duration {
	wait := firstRetry
	for ; failures > 1 && wait < lastRetry; failures-- {
		wait *= 2
	}
	return min(wait, lastRetry)
}

// backOff decides by the results of the claim's earlier attempts. It holds the job if no attempt
// can succeed. After max_attempts failures, and again after each further failure, it returns the
// nodes of a CONFIGURING job, and Slurm requeues the job.
func backOff(w *demand.Wanted, c *demand.Claim) Ruling {
	failures, trouble, last := c.Failures(w.Scene)
	if failures == 0 {
		return Ruling{}
	}
	hopeless := trouble.Cause.NeedsAdmin()
	unheld := hopeless && c.Job != nil && !w.WouldEnd(c.Holders) && !c.StartedAfter(last) && !c.HasRivals() // its job is not held yet
	if over := w.Seen.Now.Sub(last) >= retryAfter(failures); over && !unheld {
		return Ruling{}
	}
	switch {
	case trouble.Cause == mig.CauseExists:
		return occupied(w, c)
	// An admin may have released the job.
	case hopeless && !w.WouldEnd(c.Holders) && !c.StartedAfter(last):
		return giveUp(w, c, action.Hold, true, "request-refused", trouble.Brief()).quoting(trouble).decided()
	// A job that waits PENDING holds no nodes, and a new door would restart its timers.
	case failures >= c.Set.Flex.MaxAttempts && c.Door == nil && !stays(w.Scene, c) && !c.StartedAfter(last):
		return giveUp(w, c, action.Requeue, false, "request-failed", fmt.Sprintf("%d attempts failed, the last: %s", failures, trouble.Brief())).quoting(trouble).decided()
	}
	next := last.Add(retryAfter(failures))
	v := Ruling{Do: Waits, Failed: failures, Next: next}
	v.Why = memo.Failed(failures, fmt.Sprintf("%s; retrying at %s", trouble.Brief(), next.UTC().Format(time.RFC3339)))
	v.Problems.Add("request-failed", fmt.Sprintf("%s attempt %d", c.Group, failures), "%s: %s", c.Group, v.Why)
	return v.quoting(trouble)
}

// quoting appends Google's message to the ruling's problems, unless they already contain it.
func (v Ruling) quoting(t mig.Trouble) Ruling {
	if strings.TrimSuffix(strings.TrimSpace(t.Message), ".") != t.Brief() {
		for i := range v.Problems {
			v.Problems[i].Text += t.InGooglesWords()
		}
	}
	return v
}

// occupied describes the owner of a resource with the name of the claim's group. Resources that a
// newer slurmflex created are already reported as a problem.
func occupied(w *demand.Wanted, c *demand.Claim) Ruling {
	for _, g := range w.Seen.Groups {
		if g.Name == c.Group && g.Region == c.Set.Region && g.Stamp.Newer() {
			return Ruling{Do: Waits, Why: fmt.Sprintf("group %s in %s is left alone because a newer slurmflex created it", g.Name, g.Region)}
		}
	}
	p := scene.NewProblem("group-name-taken", c.Group, "%s already exists in %s without this cluster's stamp; delete it if nothing needs it, or rename nodeset %s", c.Group, c.Set.Region, c.Set.Name)
	switch owner := w.Seen.Refused[c.Group].Owner; owner {
	case "":
	case w.Config.Cluster:
		return Ruling{Do: Waits, Why: fmt.Sprintf("group %s in %s already exists and is left alone until a list shows it", c.Group, c.Set.Region)}
	default:
		p = scene.NewProblem("group-name-taken", c.Group, "group %s in %s belongs to cluster %s; rename this cluster's nodeset %s, or one of the two clusters, so that their names differ",
			c.Group, c.Set.Region, owner, c.Set.Name)
	}
	return Ruling{Do: Waits, Why: p.Text, Problems: []scene.Problem{p}}
}

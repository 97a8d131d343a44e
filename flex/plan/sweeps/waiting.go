package sweeps

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"slurmflex/flex/plan/action"
	"slurmflex/flex/plan/demand"
	"slurmflex/flex/plan/memo"
	"slurmflex/flex/plan/rules"
	"slurmflex/flex/plan/scene"
	"slurmflex/mig"
)

// commentOf returns the Comment for a claim's nodes while no machine is being created: they wait for
// a request, a place, the next attempt, the end of a rate limit, or an admin. It reports false if
// the nodes need no Comment.
func commentOf(w *demand.Wanted, v rules.Verdict) (n memo.Wait, ok bool) {
	c := v.Claim
	if q := v.Queued; q.Request != "" {
		r := c.Live.Request
		return memo.Wait{Place: q.Group + "/" + q.Request, Since: q.Requested, Reset: q.Requested}, r.State == mig.Accepted && !anyOurs(w.Scene, r.Instances)
	}
	l := v.Lacking
	return memo.Wait{Place: l.Group, Since: l.Since, Reset: l.Since}, (v.Obstacle() != "" || l.Failing.Times > 0) && !v.Gone && !anyOurs(w.Scene, c.Nodes)
}

// keepWaiting lets nodes wait longer than Slurm's ResumeTimeout, which is at most 18 hours before
// 25.05: a power_up resets the timer. It must stop once the machine is being created, because
// slurmctld refuses a node that booted before it was last powered up. While Compute cannot be read,
// or a bulk insert is in flight, a machine may be being created. The timer is then reset in its last
// third only, because otherwise Slurm would end or requeue the job.
func keepWaiting(s *Step) {
	for _, v := range s.verdicts {
		c := v.Claim
		now, waits := commentOf(s.Wanted, v)
		unsure := v.Unread
		if c.Set.Flex.UseBulkInsert && slices.ContainsFunc(c.Nodes, s.IsBeingMade) {
			waits, unsure = false, true
		}
		if !waits && !unsure || c.Door != nil { // Slurm does not power up nodes behind a door
			continue
		}
		due := s.Seen.ResumeTimeout / 3
		nodes := s.WithoutMachine(c.Nodes) // an earlier request may have created the others
		if !waits {
			nodes = slices.DeleteFunc(nodes, func(name string) bool { return !memo.IsWait(s.Node(name).Comment) })
		}
		last, known := firstArmed(s.Scene, nodes)
		if !waits {
			now = last
		}
		if !waits && (!known || len(nodes) == 0 || s.Seen.Now.Sub(last.Reset) < 2*due) {
			continue
		}
		switch waited := s.Seen.Now.Sub(now.Since); {
		case known:
			now.Reset = last.Reset
			if now.Since.IsZero() {
				now.Since = last.Since
			}
		case now.Since.IsZero() && c.Job != nil:
			continue // Slurm does not show yet when the job was allocated its nodes
		case now.Since.IsZero(): // record the start of the wait from now on
			now.Since, now.Reset = s.Seen.Now.Truncate(time.Second), s.Seen.Now.Truncate(time.Second)
		case (waited < rules.TellAfter || v.Failing.Times > 0) && (due == 0 || waited < due):
			continue // the wait may end at once
		case c.Job != nil && !c.Job.Start.IsZero() && c.Job.Start.Before(now.Reset):
			now.Reset = c.Job.Start
		}
		change := action.SetNodes{Nodes: nodes, Why: c.Why()}
		// A time in the future was written by a clock that was ahead, so it is ignored.
		if age := s.Seen.Now.Sub(now.Reset); due > 0 && (age >= due || age < -scene.MaxSkew) {
			now.Reset = s.Seen.Now.Truncate(time.Second)
			change.State = "power_up"
			change.Why = action.Why(fmt.Sprintf("%s; ResumeTimeout is %s", c.Why(), s.Seen.ResumeTimeout))
		}
		if comment := now.String(); comment != last.String() {
			change.Comment = &comment
			s.do(change)
		}
	}
}

// firstArmed returns the Comment of the node with the longest-running ResumeTimeout timer:
// slurmctld may have refused to power up some of a job's nodes. It reports false if one of the
// nodes lacks such a Comment.
func firstArmed(s *scene.Scene, nodes []string) (first memo.Wait, known bool) {
	for i, name := range nodes {
		comment := s.Node(name).Comment
		if i > 0 && comment == s.Node(nodes[i-1]).Comment {
			continue
		}
		wait, ok := memo.ParseWait(comment)
		if !ok {
			return memo.Wait{}, false
		}
		if i == 0 || wait.Reset.Before(first.Reset) {
			first = wait
		}
	}
	return first, true
}

// stopWaiting clears the Comment of nodes that no longer wait.
func stopWaiting(s *Step) {
	var names []string
	for _, m := range s.Nodes {
		if c := s.ClaimOf(m); memo.IsWait(m.Comment) && (c == nil || c.Live == nil && anyOurs(s.Scene, []string{m.Name})) {
			names = append(names, m.Name)
		}
	}
	empty := ""
	s.do(action.SetNodes{Nodes: names, Comment: &empty, Why: "they no longer wait"})
}

// anyOurs reports whether any of the nodes has an instance that is ours, or may be ours because its
// group has a name like ours and is not listed. An instance of an unlisted group no longer counts
// once it is older than half of ResumeTimeout: Slurm would set the node DOWN before the instance
// joins.
func anyOurs(s *scene.Scene, nodes []string) bool {
	return slices.ContainsFunc(nodes, func(name string) bool {
		return slices.ContainsFunc(s.Named(name).Machines, func(in scene.Machine) bool {
			return in.Ours || strings.HasPrefix(in.Group, s.Config.Cluster+"-") && !s.IsOld(in.Created, s.Seen.ResumeTimeout/2)
		})
	})
}

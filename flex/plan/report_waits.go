package plan

import (
	"fmt"
	"slices"
	"time"

	"slurmflex/flex/plan/scene"
	"slurmflex/mig"
	"slurmflex/slurm"
)

// Wait is nodes that must arrive together and have no machine yet: what they
// wait for, for those who ask.
type Wait struct {
	Job     uint32 // that waits for them; 0 for a static node or one that was powered up by hand
	NodeSet string
	Region  string
	Group   string        // their managed instance group, made or to be made
	Nodes   []string      // those without a machine
	Lease   time.Duration // that is asked for, or will be

	Request string    // the live request that is to bring them; empty if there is none
	Since   time.Time // when they began to wait; zero if that is not known

	Obstacle string        // why nothing is asked for now; empty if nothing is in the way
	Failed   int           // attempts in a row that have failed, where that is the obstacle
	Next     time.Time     // when the next attempt comes, where that is known
	Failing  scene.Failing // where Failed counts calls that are repeated in every pass

	Cause   mig.Cause // of the last error
	Message string    // the last error message

	Until time.Time // when the wait ends, or its job is lost; zero: never
	Then  Then      // what becomes of the job then
	By    Limiter   // what ends the wait
}

// waitsOf says what each cohort waits for that has not got all its machines, and
// what each node waits for that a job was given and that is not powering up.
func waitsOf(w *wanted, verdicts []verdict) (waits []Wait) {
	waits = make([]Wait, 0, len(verdicts))
	for _, v := range verdicts {
		waits = append(waits, v.waits(w)...)
	}
	return append(append(waits, unready(w.scene)...), unshownWaits(w.scene)...)
}

// waits are those of the cohort's nodes that a request is to bring, and of those for
// which nothing is requested.
func (v verdict) waits(w *wanted) (waits []Wait) {
	c := v.cohort
	var asked, rest []string
	for _, name := range w.scene.WithoutMachine(c.nodes) {
		if c.live != nil && c.live.Request.Names(name) && v.do != moves && (v.failing.Times == 0 || !w.scene.Seen.Asking[name]) {
			asked = append(asked, name)
		} else {
			rest = append(rest, name)
		}
	}
	wait := Wait{NodeSet: c.set.Name, Region: c.set.Region, Group: c.group, Lease: c.lease, Since: waitsSince(c)}
	if c.job != nil {
		wait.Job = c.job.ID
	}
	end := w.waitEnds(c)
	wait.Until, wait.Then, wait.By = end.at, end.then, end.by
	if len(asked) > 0 {
		queued, live := wait, c.live
		queued.Nodes, queued.Region, queued.Group = asked, live.Group.Region, live.Group.Name
		queued.Request, queued.Lease = live.Request.Name, live.Request.Duration
		queued.Cause, queued.Message = live.Request.Cause, live.Request.Message
		if queued.Since.IsZero() {
			queued.Since = live.Request.Created
		}
		waits = append(waits, queued)
	}
	if len(rest) > 0 {
		wait.Nodes, wait.Failed, wait.Next, wait.Failing = rest, v.failed, v.next, v.failing
		if _, wait.Cause, wait.Message, _ = failures(w.scene, c, w.scene.Group(c.id())); v.failing.Times > 0 {
			wait.Failed, wait.Cause, wait.Message = v.failing.Times, v.failing.Cause, v.failing.Message
		}
		if v.do != goesBack && v.do != powersDown {
			wait.Obstacle = v.why
		}
		if !v.lost.IsZero() {
			wait.Obstacle, wait.Until, wait.Then, wait.By = v.why, v.lost, Lose, ""
		}
		waits = append(waits, wait)
	}
	return waits
}

// unready says what the nodes wait for that a job has been given and that Slurm
// does not power up: nothing is requested before.
func unready(s *scene.Scene) (waits []Wait) {
	for _, m := range s.Nodes() {
		job := m.Owner()
		if job == nil || job.State.AtWork() || m.Power != scene.Off && m.Power != scene.Unclear || s.HasMachine(m.Name) {
			continue
		}
		obstacle := "Slurm is powering it down, and powers it up again after that"
		if m.Power == scene.Unclear {
			obstacle = fmt.Sprintf("Slurm shows it as %s, which slurmflex does not understand", m.State)
		}
		waits = append(waits, Wait{
			Job: job.ID, NodeSet: m.Set.Name, Region: m.Set.Region, Nodes: []string{m.Name}, Since: job.Start, Obstacle: obstacle,
		})
	}
	return waits
}

// unshownWaits says what the nodes wait for that a job was given and that no row of
// Slurm's list of nodes shows, because a row without a name could not be read.
func unshownWaits(s *scene.Scene) (waits []Wait) {
	for _, name := range s.UnshownNodes() {
		set, _, ok := s.Config.Find(name)
		waiting := slices.DeleteFunc(slices.Clone(s.HoldersOf(name)), func(j *slurm.Job) bool { return j.State.AtWork() })
		if !ok || set.Flex == nil || s.HasMachine(name) || len(waiting) == 0 {
			continue
		}
		owner := slices.MinFunc(waiting, scene.ByImportance)
		waits = append(waits, Wait{
			Job: owner.ID, NodeSet: set.Name, Region: set.Region, Nodes: []string{name}, Since: owner.Start, Obstacle: unshownText,
		})
	}
	return waits
}

// recallWaits are the waits as they are, and of regions that could not be read as
// they were last known: of what was not requested then nothing is requested now. A
// node that waits in a region that was read, because its nodeset has moved there, waits
// only there.
func recallWaits(snap scene.Snapshot, now, known []Wait) []Wait {
	recalled := func(n Wait) bool { _, ok := snap.LastKnown[n.Region]; return ok }
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
		if n.Request == "" {
			n.Obstacle, n.Failed, n.Next, n.Failing = unreadText(n.Region, snap.Unseen[n.Region]), 0, time.Time{}, scene.Failing{}
		}
		if !n.Until.After(snap.Now) {
			n.Until, n.Then, n.By = time.Time{}, "", ""
		}
		waits = append(waits, n)
	}
	return waits
}

// waitEnds says when a cohort's wait ends, and what becomes of its job then. It is never
// where the job would be lost, and its owner was told.
func (w *wanted) waitEnds(c *cohort) waitEnd {
	end := w.endOfWait(c)
	if at := w.fallbackAt(c); !at.IsZero() && (end.at.IsZero() || at.Before(end.at)) && w.staysText(c) == "" {
		end = waitEnd{at, ByFallback, clock(c.set.Flex.FallbackAfter), Requeue}
	}
	if c.job == nil || end.then != Cancel && end.by != ByDeadline && keeps(w.scene, c) {
		return waitEnd{}
	}
	return end
}

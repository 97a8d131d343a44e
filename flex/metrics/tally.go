package metrics

import (
	"time"

	"slurmflex/flex/plan/scene"
	"slurmflex/flex/view"
	"slurmflex/slurm"
)

// tally holds the counts of one nodeset.
type tally struct {
	nodes    map[string]int // by state
	active   map[string]int // by state
	waiting  int
	stuck    int
	longest  time.Duration
	machines map[string]int // by the state of their nodes
	nextEnd  time.Time      // of a lease
	maintain time.Time      // the next maintenance of a host
	cutOff   time.Time      // the next lease end or maintenance under a running job
	keep     time.Duration  // keep_idle
	idle     time.Duration  // longest idle time beyond keep_idle

	blockedBy string // byBoots or byAdmin; empty: it is not blocked
}

// The values of the label by.
const (
	byBoots = "boots"
	byAdmin = "admin"
)

// enter counts a machine and its node.
func (t *tally) enter(in scene.Machine, now time.Time) {
	n := in.Node
	t.machines[view.Word(n.State)]++
	t.nextEnd = scene.Earlier(t.nextEnd, in.Terminates)
	t.maintain = scene.Earlier(t.maintain, in.Maintained)
	if !in.Until().IsZero() && jobsEnd(n).After(in.Until()) {
		t.cutOff = scene.Earlier(t.cutOff, in.Until())
	}
	if n.Static || n.State.Power() != slurm.On || n.State.Held() ||
		in.Created.IsZero() { // unread; the node's last job may have had an earlier machine
		return
	}
	since := in.Created
	if n.LastBusyTime.After(since) {
		since = n.LastBusyTime
	}
	t.idle = max(t.idle, now.Sub(since)-t.keep)
}

// jobsEnd returns the latest time until which time limits let the jobs of a node run; zero without
// jobs.
func jobsEnd(n *scene.Node) (last time.Time) {
	const never = 1 << 30 * time.Second // more than thirty years
	for _, j := range n.Holders {
		if j.Start.IsZero() || !j.State.AtWork() || j.Limit.Kind == slurm.LimitUnknown {
			continue
		}
		end := j.Start.Add(j.Limit.Duration)
		if j.Limit.Kind == slurm.Unlimited {
			end = j.Start.Add(never)
		}
		last = scene.Later(last, end)
	}
	return last
}

package plan

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"slurmflex/mig"
)

// tellAfter is how long a request waits before its nodes say so: most waits are
// over sooner, and cost slurmctld nothing.
const tellAfter = time.Minute

// waitPrefix begins the comment of a node that waits.
const waitPrefix = ReasonPrefix + "waits in "

// waiting is what the comment of a node that waits says: where, since when, and
// when Slurm last began to count ResumeTimeout for it, so that this needs no
// memory of our own.
type waiting struct {
	place        string // the group, and the request if there is one
	since, armed time.Time
}

func (n waiting) String() string {
	return fmt.Sprintf("%s%s since %s, armed %s", waitPrefix, n.place,
		n.since.UTC().Format(time.RFC3339), n.armed.UTC().Format(time.RFC3339))
}

// readWaiting reads a node's comment. It reports false if that is none of ours.
func readWaiting(comment string) (n waiting, ok bool) {
	var since, armed string
	count, err := fmt.Sscanf(strings.TrimPrefix(comment, waitPrefix), "%s since %s armed %s", &n.place, &since, &armed)
	if err != nil || count != 3 {
		return waiting{}, false
	}
	var errs [2]error
	n.since, errs[0] = time.Parse(time.RFC3339, strings.TrimSuffix(since, ","))
	n.armed, errs[1] = time.Parse(time.RFC3339, armed)
	return n, errs == [2]error{} && comment == n.String()
}

// waitsFor tells what a cohort waits for that has no machine yet: its request,
// or else its turn, the next attempt or the breaker. It reports false if it does
// not wait, or a machine may be on its way.
func (w *world) waitsFor(c *cohort) (n waiting, ok bool) {
	if c.live != nil {
		r := c.live.request
		n = waiting{c.live.group.Name + "/" + r.Name, r.Created, r.Created}
		return n, r.State == mig.Accepted && !w.anyOurs(r.Instances)
	}
	n = waiting{c.group, waitsSince(c), waitsSince(c)}
	return n, !w.unseen(c.set.Region) && w.unreadOf(c) == "" && !w.isGiven(c) && c.obstacle != "" && !w.anyOurs(c.nodes)
}

// keepWaiting lets nodes wait for longer than Slurm's ResumeTimeout, which is 18
// hours at most before 25.05: a power_up begins the count anew. It must stop when
// the machine is being made, for slurmctld refuses a node that booted before it
// was last asked for.
func (w *world) keepWaiting(cohorts []*cohort) {
	for _, c := range cohorts {
		now, waits := w.waitsFor(c)
		if !waits {
			continue
		}
		due := w.snap.ResumeTimeout / 3
		nodes := w.withoutMachine(c.nodes) // an earlier request may have brought others
		last, known := readWaiting(w.nodes[nodes[0]].Comment)
		switch waited := w.snap.Now.Sub(now.since); {
		case known:
			now.armed = last.armed
			if now.since.IsZero() {
				now.since = last.since
			}
		case now.since.IsZero() && c.job != nil:
			continue // Slurm has not said when it was given its nodes
		case now.since.IsZero(): // from now on it is known
			now.since, now.armed = w.snap.Now.Truncate(time.Second), w.snap.Now.Truncate(time.Second)
		case waited < tellAfter && (due == 0 || waited < due):
			continue
		case c.job != nil && !c.job.Start.IsZero() && c.job.Start.Before(now.armed):
			now.armed = c.job.Start
		}
		w.keepArmed(c, nodes, now, last, due)
	}
}

// keepArmed has Slurm count anew for the cohort's waiting nodes when that is due,
// and the nodes say what they wait for.
func (w *world) keepArmed(c *cohort, nodes []string, now, last waiting, due time.Duration) {
	change := SetNodes{Nodes: nodes, Why: c.why()}
	if due > 0 && w.snap.Now.Sub(now.armed) >= due {
		now.armed = w.snap.Now.Truncate(time.Second)
		change.State = "power_up"
		change.Why = Why(fmt.Sprintf("%s; ResumeTimeout is %s", c.why(), w.snap.ResumeTimeout))
	}
	if comment := now.String(); comment != last.String() {
		change.Comment = &comment
		w.setNodes(change)
	}
}

// stopWaiting clears the comments of nodes that wait no longer.
func (w *world) stopWaiting() {
	var names []string
	for _, m := range w.members {
		if strings.HasPrefix(m.Comment, waitPrefix) && (m.cohort == nil || m.cohort.live == nil && w.anyOurs([]string{m.Name})) {
			names = append(names, m.Name)
		}
	}
	empty := ""
	w.setNodes(SetNodes{Nodes: names, Comment: &empty, Why: "they wait no longer"})
}

// anyOurs reports whether any of the nodes has an instance that is ours, or may
// be: its group has a name of ours and is not listed.
func (w *world) anyOurs(nodes []string) bool {
	return slices.ContainsFunc(nodes, func(name string) bool {
		return slices.ContainsFunc(w.instances[name], func(in machine) bool {
			return w.ours(in) || strings.HasPrefix(in.Group, w.cfg.Cluster+"-")
		})
	})
}

func (w *world) anyPresent(nodes []string) bool {
	for _, n := range nodes {
		if len(w.instances[n]) > 0 {
			return true
		}
	}
	return false
}

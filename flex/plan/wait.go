package plan

import (
	"fmt"
	"strings"
	"time"

	"slurmflex/mig"
)

// tellAfter is how long a request waits before its nodes say so: most waits are
// over sooner, and cost slurmctld nothing.
const tellAfter = time.Minute

// waitPrefix begins the comment of a node that waits.
const waitPrefix = ReasonPrefix + "waits in "

// waitComment is the comment of a node that waits for capacity. Its last word
// is when Slurm last began to count ResumeTimeout for the node, so that this
// needs no memory of our own.
func waitComment(r ref, armed time.Time) string {
	return fmt.Sprintf("%s%s/%s since %s, armed %s", waitPrefix, r.group.Name, r.request.Name,
		r.request.Created.UTC().Format(time.RFC3339), armed.UTC().Format(time.RFC3339))
}

// armedAt reads the last word of the comment of a node that waits for r.
func armedAt(comment string, r ref) (time.Time, bool) {
	i := strings.LastIndex(comment, ", armed ")
	if i < 0 {
		return time.Time{}, false
	}
	at, err := time.Parse(time.RFC3339, comment[i+len(", armed "):])
	return at, err == nil && comment == waitComment(r, at)
}

// keepWaiting lets nodes wait for capacity longer than Slurm's ResumeTimeout,
// which is 18 hours at most before 25.05: a power_up begins the count anew. It
// must stop when the machine is being made, for slurmctld refuses a node that
// booted before it was last asked for.
func (w *world) keepWaiting(cohorts []*cohort) {
	for _, c := range cohorts {
		if c.live == nil || c.live.request.State != mig.Accepted || w.anyPresent(c.live.request.Instances) {
			continue
		}
		due := w.snap.ResumeTimeout / 3
		if waited := w.snap.Now.Sub(c.live.request.Created); waited < tellAfter && (due == 0 || waited < due) {
			continue
		}
		armed, known := armedAt(w.nodes[c.nodes[0]].Comment, *c.live)
		if !known {
			armed = c.live.request.Created
		}
		change := SetNodes{Nodes: c.nodes, Why: c.why()}
		if due > 0 && w.snap.Now.Sub(armed) >= due {
			armed, known = w.snap.Now.Truncate(time.Second), false
			change.State = "power_up"
			change.Why = Why(fmt.Sprintf("%s; ResumeTimeout is %s", c.why(), w.snap.ResumeTimeout))
		}
		if !known {
			comment := waitComment(*c.live, armed)
			change.Comment = &comment
			w.setNodes(change)
		}
	}
}

// stopWaiting clears the comments of nodes that wait no longer.
func (w *world) stopWaiting() {
	var names []string
	for _, m := range w.members {
		if strings.HasPrefix(m.Comment, waitPrefix) && (m.cohort == nil || m.cohort.live == nil) {
			names = append(names, m.Name)
		}
	}
	empty := ""
	w.setNodes(SetNodes{Nodes: names, Comment: &empty, Why: "they wait no longer"})
}

func (w *world) anyPresent(nodes []string) bool {
	for _, n := range nodes {
		if len(w.instances[n]) > 0 {
			return true
		}
	}
	return false
}

package chaos

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"slurmflex/flex/plan/memo"
	"slurmflex/slurm"
	"slurmflex/test/fakegce"
)

// left is the first thing that keeps the world from being at rest: a job that
// has not run, a static node that is not up, or something of ours that nobody
// needs.
func (w *world) left() (violation, bool) {
	queue, _ := w.watch.all()
	for _, l := range queue {
		return violation{kind: lostJob, text: fmt.Sprintf("job %d of %s is %s (%s) still, on %q",
			l.ID, l.Partition, l.State, l.Reason, slurm.Fold(l.Nodes))}, true
	}
	if text := w.nodesLeft(); text != "" {
		return violation{kind: lostJob, text: text}, true
	}
	if text := w.cloudLeft(w.state()); text != "" {
		return violation{kind: orphan, text: text}, true
	}
	return w.reservationsLeft()
}

// nodesLeft says which node is not as it should be at rest: static ones up, the
// others powered down, and none with a word of ours.
func (w *world) nodesLeft() string {
	for _, name := range w.setup.slurm.Nodes {
		n := w.watch.node(name)
		want := slurm.ParseState("IDLE+CLOUD+POWERED_DOWN")
		if w.static(name) {
			want = slurm.ParseState("IDLE+CLOUD")
		}
		switch {
		case n.State != want && !stale(n.State, want):
			return fmt.Sprintf("node %s is %s (%s), not %s", name, n.State, n.Reason, want)
		case strings.HasPrefix(n.Comment, memo.ReasonPrefix):
			return fmt.Sprintf("node %s has the comment %q", name, n.Comment)
		case n.Extra != "":
			return fmt.Sprintf("node %s has the extra %q", name, n.Extra)
		}
	}
	return ""
}

// stale reports whether a state differs by a mark alone that releases before 26.05
// leave on a powered-down node that was given up, or put back into service.
func stale(s, want slurm.State) bool {
	s.Flags &^= slurm.NotResponding
	return s == want && want.Has(slurm.PoweredDown)
}

// static reports whether a node is always wanted.
func (w *world) static(node string) bool { return slices.Contains(w.setup.slurm.SuspendExc, node) }

// cloudLeft says what of ours is in the cloud that no static node needs.
func (w *world) cloudLeft(st fakegce.State) string {
	used := map[string]bool{}
	for _, in := range st.Instances {
		if isNeighbours(in.Name) {
			continue
		}
		if !w.static(in.Name) || in.Status != "RUNNING" {
			return fmt.Sprintf("machine %s (%s) is left", in.Name, in.Status)
		}
		used[in.Group] = true
	}
	for _, g := range w.ours(st) {
		if !used[g.Name] {
			return "group " + g.Name + " is left, and empty"
		}
		for _, r := range g.Requests {
			if alive(r) {
				return fmt.Sprintf("request %s/%s is %s still", g.Name, r.Name, r.State)
			}
		}
	}
	for _, p := range st.Policies {
		return "policy " + path.Base(p) + " is left"
	}
	return ""
}

// reservationsLeft says which reservation of ours has no lease that ends then,
// or what has become of a neighbour's.
func (w *world) reservationsLeft() (violation, bool) {
	all, err := w.slurm.Reservations(w.ctx)
	if err != nil {
		return violation{kind: lostJob, text: err.Error()}, true
	}
	ends := map[string]time.Time{}
	for _, in := range w.state().Instances {
		ends[in.Name] = in.Terminates
	}
	foreign := false
	for _, r := range all {
		if r.Name == foreignReservation {
			foreign = true
			continue
		}
		for _, node := range r.Nodes {
			if end := ends[node]; end.IsZero() || end.Sub(r.Start).Abs() > time.Minute {
				return violation{kind: orphan, text: fmt.Sprintf("reservation %s covers %s from %s on, and its lease ends at %s",
					r.Name, node, r.Start, end)}, true
			}
		}
	}
	if !foreign {
		return violation{kind: foreignChange, text: "reservation " + foreignReservation + ", which is not ours, is gone"}, true
	}
	return violation{}, false
}

// lostJobs are the jobs that have ended without having run, and not because the
// script, the world or their cause would have it so.
func (w *world) lostJobs() (lost []string) {
	_, over := w.watch.all()
	for _, l := range over {
		state := w.slurm.JobState(l.ID)
		switch {
		case state == slurm.JobCompleted || state == slurm.JobTimeout:
		case w.watch.forgiven(l):
		case state == slurm.JobCancelled && l.dropped: // by on_provision_timeout
		case state == slurm.JobNodeFail && (l.taken || l.hopeless):
		case state == slurm.JobNodeFail && l.HetID != 0 && l.stays: // its script has not begun within a minute
		default:
			lost = append(lost, fmt.Sprintf("job %d of %s ended as %s and should have run", l.ID, l.Partition, state))
		}
	}
	return lost
}

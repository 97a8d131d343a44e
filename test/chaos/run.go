// Package chaos lets the real reconciler, planner and Compute client live
// through random days between a model of Slurm and a fake Compute, in which
// everything around them fails, and holds what they did against invariants.
//
// A seed makes a day: a script of timed events. A day that breaks an invariant
// is shrunk to the few events that it takes. See README.md.
package chaos

import (
	"context"
	"fmt"
	"os"
	"path"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"slurmflex/config"
	"slurmflex/flex/plan/memo"
	"slurmflex/slurm"
	"slurmflex/test/fakegce"
)

// How a day goes.
const (
	storm  = 2 * time.Hour    // in which the script's events are
	latest = 14 * time.Hour   // when everything must be quiet
	quiet  = 30 * time.Minute // for which it must stay so
	tick   = time.Second
)

// outcome is what a day came to.
type outcome struct {
	violation violation
	failed    bool
	digest    string
	journal   *journal
	lasted    time.Duration // of the model's time
	toll      toll
	tears     tearCount
}

// live lives through a day in a bubble of its own.
func live(t *testing.T, d day) (o outcome) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(context.Background())
		w, err := newWorld(ctx, d.seed)
		if err != nil {
			cancel()
			t.Fatalf("seed %d: make the world: %v", d.seed, err)
		}
		w.play(d.script)
		w.shut(true)
		cancel()
		w.processes.Wait()
		for _, dir := range w.lockDirs {
			if err := os.RemoveAll(dir); err != nil {
				t.Errorf("seed %d: %v", d.seed, err)
			}
		}
		o = outcome{digest: w.journal.digest(), journal: &w.journal, lasted: time.Since(w.begun)}
		o.violation, o.failed = w.check.first()
		o.toll = w.calls.soFar()
		o.tears = w.tears.soFar()
	})
	return o
}

// play lets the script happen, and then time pass until all is quiet.
func (w *world) play(script []appointment) {
	begun := time.Now()
	w.begun, w.journal.begun, w.check.saw = begun, begun, begun
	w.main.start()
	w.other.start()
	for len(script) > 0 || time.Since(begun) < storm {
		for len(script) > 0 && script[0].at <= time.Since(begun) {
			w.journal.note("%v", script[0])
			script[0].strike(w, script[0].no)
			script = script[1:]
		}
		if !w.step() {
			return
		}
	}
	w.calm()
	w.watchQuiet(begun)
}

// step lets a second pass. It reports false when an invariant did not hold.
func (w *world) step() bool {
	time.Sleep(tick)
	w.shut(false)
	w.main.tend()
	w.other.tend()
	w.slurm.Step()
	if nodes, err := w.slurm.Nodes(w.ctx); err == nil {
		if jobs, err := w.slurm.Jobs(w.ctx); err == nil {
			for _, j := range w.watch.look(nodes, jobs) {
				w.check.start(j)
			}
		}
	}
	for _, name := range w.setup.slurm.Nodes {
		if w.machines.silent(w.watch.node(name)) {
			w.watch.take(name)
		}
	}
	w.check.stalled()
	w.check.patient()
	w.check.turns()
	w.tears.look(w)
	w.preempts.look(w)
	w.check.downed()
	w.check.idles()
	_, failed := w.check.first()
	return !failed
}

// calm ends the storm: nothing fails any more.
func (w *world) calm() {
	w.journal.note("the storm is over")
	w.shut(true)
	w.faults.heal()
	w.tears.calm()
	w.preempts.calm()
	w.cloud.SetCapacity("", "", -1)
	for no := range w.jobs {
		if no >= firstEver {
			order(no, cancel).strike(w, 0)
		}
	}
}

// watchQuiet waits until nothing is left to be done, and then for a while that
// nothing is done.
func (w *world) watchQuiet(begun time.Time) {
	var since time.Time
	var then toll
	for minute := 0; ; minute++ {
		for range 60 {
			if !w.step() {
				return
			}
		}
		if minute%20 == 0 {
			for _, id := range w.watch.held() {
				w.journal.note("an admin releases job %d: %v", id, w.slurm.Release(id))
			}
		}
		left, any := w.left()
		switch {
		case any && time.Since(begun) > latest:
			w.check.fail(left.kind, "%s", left.text)
			return
		case any:
			since = time.Time{}
		case since.IsZero():
			since = time.Now()
			then = w.calls.soFar()
		case time.Since(since) > quiet:
			w.judge(then, time.Since(since))
			return
		}
	}
}

// judge judges a day that has come to rest, since when the toll was another.
func (w *world) judge(then toll, rest time.Duration) {
	for _, text := range w.lostJobs() {
		w.check.fail(lostJob, "%s", text)
	}
	st := w.state()
	for _, n := range neighbours() {
		if text := n.disturbed(st); text != "" {
			w.check.fail(foreignChange, "%s", text)
		}
	}
	now := w.calls.soFar()
	if text := now.minus(then).idle(rest, w.config().Options.Interval, len(w.setup.slurm.SuspendExc)); text != "" {
		w.check.fail(overScale, "%s", text)
	}
	if text := now.excess(time.Since(w.begun)); text != "" {
		w.check.fail(overScale, "%s", text)
	}
}

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
		if w.setup.waiting == config.Pending {
			n.State.Flags &^= slurm.Reserved // by the cover
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
		if w.setup.waiting == config.Pending && memo.ParseHold(cluster, r.Name).Kind == memo.CoverHold {
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

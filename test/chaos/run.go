// Package chaos runs the real reconciler, planner and Compute client through random days. They
// act on a model of Slurm and a fake Compute while everything around them fails. The package
// checks their actions against invariants.
//
// A seed determines a day: a script of timed events. A day that breaks an invariant is reduced
// to the few necessary events. See README.md.
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

// Durations of a day.
const (
	storm  = 2 * time.Hour    // the period of the script's events
	latest = 14 * time.Hour   // limit for everything to become quiet
	quiet  = 30 * time.Minute // required time without activity
	tick   = time.Second
)

// outcome is the result of a day.
type outcome struct {
	violation violation
	failed    bool
	digest    string
	journal   *journal
	lasted    time.Duration // in the model's time
	toll      toll
}

// live plays a day in its own bubble.
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
	})
	return o
}

// play runs the script and then advances time until everything is quiet.
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

// step advances time by a second. It returns false after a violation.
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
	if i := slices.IndexFunc(w.ambushes, func(happens func() bool) bool { return happens() }); i >= 0 {
		w.ambushes = slices.Delete(w.ambushes, i, i+1)
	}
	w.check.downed()
	w.check.idles()
	_, failed := w.check.first()
	return !failed
}

// calm ends the storm: no further failures occur.
func (w *world) calm() {
	w.journal.note("the storm is over")
	w.shut(true)
	w.faults.heal()
	if w.setup.limit > 0 {
		hangup(raised, false).strike(w, 0)
	}
	w.ambushes = nil
	w.cloud.SetCapacity("", "", -1)
}

// watchQuiet waits until no work remains, and then checks that there is no activity for a
// while.
func (w *world) watchQuiet(begun time.Time) {
	var since time.Time
	var then toll
	for minute := 0; ; minute++ {
		for range 60 {
			if !w.step() {
				return
			}
		}
		if minute%20 == 0 { // again: slurmctld may not have answered the last time
			for no := range w.jobs {
				if no >= firstEver {
					order(no, cancel).strike(w, 0)
				}
			}
			queue, _ := w.watch.all()
			for _, l := range queue {
				switch {
				case l.State == slurm.JobPending && strings.Contains(strings.ToLower(l.Reason), "held"):
					w.journal.note("an admin releases job %d: %v", l.ID, w.slurm.Release(l.ID))
				case l.late >= 10: // its first component gets running machines, and another's take longer than slurmctld waits
					w.watch.note(w.watch.excused, l.ID)
					w.journal.note("the owner of job %d cancels it, to put another component first: %v", l.ID, w.slurm.Cancel(l.ID))
				}
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

// judge checks a day at rest; then is the toll at the start of that rest.
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

// left returns the first thing that keeps the world from rest: a job that has not run, a
// static node that is not up, or an unneeded resource of slurmflex.
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

// nodesLeft describes a node in the wrong state at rest. Static nodes must be up, all others
// powered down, and no node may have a text of slurmflex.
func (w *world) nodesLeft() string {
	for _, name := range w.setup.slurm.Nodes {
		n := w.watch.node(name)
		want := slurm.ParseState("IDLE+CLOUD+POWERED_DOWN")
		if w.static(name) {
			want = slurm.ParseState("IDLE+CLOUD")
		}
		if w.setup.waiting == config.Pending {
			n.State.Flags &^= slurm.Reserved // set by the cover
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

// stale reports whether two states differ only by a flag that releases before 26.05 leave on a
// powered-down node after ResumeTimeout or a return to service.
func stale(s, want slurm.State) bool {
	s.Flags &^= slurm.NotResponding
	return s == want && want.Has(slurm.PoweredDown)
}

// static reports whether a node is always wanted.
func (w *world) static(node string) bool { return slices.Contains(w.setup.slurm.SuspendExc, node) }

// cloudLeft describes a resource of slurmflex in the cloud that no static node needs.
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

// reservationsLeft describes a reservation of slurmflex that matches no lease's end, or a
// change of a neighbour's reservation.
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

// lostJobs describes the jobs that ended without running, except where the script, a lost node
// or a permanent error justifies that.
func (w *world) lostJobs() (lost []string) {
	_, over := w.watch.all()
	for _, l := range over {
		state := w.slurm.JobState(l.ID)
		switch {
		case state == slurm.JobCompleted || state == slurm.JobTimeout:
		case w.watch.forgiven(l):
		case state == slurm.JobCancelled && l.dropped: // by on_provision_timeout
		case state == slurm.JobNodeFail && (l.taken || l.hopeless):
		case state == slurm.JobNodeFail && l.HetID != 0 && l.stays: // its script has not started within a minute
		default:
			lost = append(lost, fmt.Sprintf("job %d of %s ended as %s and should have run", l.ID, l.Partition, state))
		}
	}
	return lost
}

package chaos

import (
	"context"
	"os"
	"testing"
	"testing/synctest"
	"time"
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
	_, failed := w.check.first()
	return !failed
}

// calm ends the storm: nothing fails any more.
func (w *world) calm() {
	w.journal.note("the storm is over")
	w.shut(true)
	w.faults.heal()
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

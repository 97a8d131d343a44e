package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"slurmflex/flex"
	"slurmflex/slurm"
	"slurmflex/test/fakegce"
	"slurmflex/test/must"
)

// speed is how much faster than real time the model's time passes: a day takes
// a minute. Passes take a tenth of a second and more, so they are some minutes
// of the model apart, as rarely as a site might have them.
const speed = 1440

// day is a day of the model's time.
const day = 24 * time.Hour

// clock shows the model's time, in every process the same.
type clock struct {
	begun time.Time // when it was the real time
}

func (c clock) now() time.Time { return c.begun.Add(speed * time.Since(c.begun)) }

// settle is how long the daemon is left alone before it is looked at, in real
// time: what callers have left behind has timed out by then, and what the last
// ones brought about is done.
const settle = 3 * time.Second

// tick is how often the models are let do what is due, in real time.
const tick = 10 * time.Millisecond

// life is the world of a soak: its models go by a clock of which a day takes a
// minute.
type life struct {
	world
	clock  clock
	time   *fakegce.ManualClock // which the models go by; it follows clock
	static map[string]bool      // nodes
}

func newLife(dir string) *life {
	l := &life{clock: clock{time.Now()}, static: map[string]bool{}}
	l.time = fakegce.NewManualClock(l.clock.begun)
	o := slurmOptions(l.time.Now)
	o.Resume = func(nodes []string, _ []uint32) { l.hook("resume", nodes) }
	o.Suspend = func(nodes []string) { l.hook("suspend", nodes) }
	o.ResumeFail = func(nodes []string) { l.hook("resume-fail", nodes) }
	for _, node := range o.SuspendExc {
		l.static[node] = true
	}
	l.start(dir, models{slurm: o, cloud: cloudOptions(l.time), config: soakConfig})
	for _, machine := range []string{loose, tight} {
		must.Get(l.cloud.AddTemplate(region, fakegce.FlexTemplate(machine, machine)))
	}
	return l
}

// hook is Slurm's call of one of the programs. That the daemon has no time for it
// within 60 ms loses nothing: the next pass sees what there is to do.
func (l *life) hook(verb string, nodes []string) {
	l.running.Go(func() { _ = l.wakeUp(context.Background(), flex.WakeUp{Verb: verb, Nodes: slurm.Fold(nodes)}) })
}

// soak lives through days in a folder of their own and judges them. The folder
// is kept when something grows, or a day does not end.
func soak(ctx context.Context, lasts time.Duration, out io.Writer) error {
	dir, err := os.MkdirTemp("", "slurmflex-soak-")
	if err != nil {
		return err
	}
	begun := time.Now()
	var samples []sample
	err = must.Try(func() {
		l := newLife(dir)
		defer l.shut()
		samples = l.days(ctx, begun.Add(lasts), out)
	})
	if err == nil {
		err = judge(samples, time.Since(begun), out)
	}
	if err != nil && ctx.Err() == nil {
		fmt.Fprintf(os.Stderr, "soak: the daemon's log, and profiles of each day's end, are in %s\n", dir)
		return err
	}
	return errors.Join(err, os.RemoveAll(dir))
}

// days has a daemon live through days until then, and takes a sample of it at the
// end of each.
func (l *life) days(ctx context.Context, until time.Time, out io.Writer) (samples []sample) {
	profiles := freeAddress()
	d := l.startDaemon(l.daemonOfSoak(ctx, l.clock, profiles))
	err := must.Try(func() {
		for number := 1; time.Now().Before(until); number++ {
			dawn := l.time.Now()
			l.live(ctx, newScript(number))
			s := l.takeSample(ctx, d.pid(), profiles, number)
			samples = append(samples, s)
			fmt.Fprintf(out, "day %d, of %.0f h: %v\n", number, l.time.Now().Sub(dawn).Hours(), s)
		}
	})
	stopped := d.stop()
	if err != nil {
		must.Do(fmt.Errorf("day %d: %w", len(samples)+1, err))
	}
	must.Do(stopped)
	return samples
}

// live lives through a day, and returns when it is over, the world at rest and
// nobody calls the daemon any more.
func (l *life) live(ctx context.Context, script []event) {
	begun := l.clock.now()
	guests := letIn(ctx, &l.world)
	defer guests.sendAway() // also from a day that fails
	l.passUntil(ctx, func() bool {
		now := l.time.Now().Sub(begun)
		for len(script) > 0 && script[0].at <= now {
			script[0].what(ctx, l)
			script = script[1:]
		}
		if now < day {
			return false
		}
		left := l.left(ctx)
		if left != "" && now > latest {
			must.Do(fmt.Errorf("not at rest after %v: %s", now, left))
		}
		return left == ""
	})
	guests.sendAway()
	gone := time.Now()
	l.passUntil(ctx, func() bool { return time.Since(gone) > settle })
}

// passUntil lets time pass until something holds.
func (l *life) passUntil(ctx context.Context, holds func() bool) {
	ticks := time.NewTicker(tick)
	defer ticks.Stop()
	for done := false; !done; done = holds() {
		select {
		case <-ctx.Done():
			must.Do(context.Cause(ctx))
		case <-ticks.C:
		}
		l.cloud.Advance(l.clock.now().Sub(l.time.Now()))
		l.slurm.Step()
	}
}

// judge prints the last line, and fails if anything grows.
func judge(samples []sample, took time.Duration, out io.Writer) error {
	var texts, grown []string
	for _, c := range courses(samples) {
		texts = append(texts, c.String())
		if !c.flat() {
			grown = append(grown, c.name)
		}
	}
	verdict := "flat"
	if len(grown) > 0 {
		verdict = "not flat: " + strings.Join(grown, ", ")
	}
	fmt.Fprintf(out, "soak: %v, %d days, %.0f passes, %s, %s\n", took.Round(time.Second), len(samples), samples[len(samples)-1].passes,
		strings.Join(texts, ", "), verdict)
	if len(grown) > 0 {
		return errGrows
	}
	return nil
}

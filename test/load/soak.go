package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"slurmflex/flex/wake"
	"slurmflex/slurm"
	"slurmflex/test/fakegce"
	"slurmflex/test/must"
)

// speed is the ratio of the model's time to real time: a day takes a minute. Passes take a tenth of
// a second or more, so they are some minutes apart in the model's time, as on a site with a long
// interval.
const speed = 1440

// day is a day in the model's time.
const day = 24 * time.Hour

// clock shows the model's time, the same in every process.
type clock struct {
	begun time.Time // when it showed the real time
}

func (c clock) now() time.Time { return c.begun.Add(speed * time.Since(c.begun)) }

// settle is how long the daemon is left alone before a sample, in real time: all connections of
// former callers have timed out, and the last wake-ups are handled.
const settle = 3 * time.Second

// tick is the interval at which the models process due events, in real time.
const tick = 10 * time.Millisecond

// life is the world of a soak: its models follow a clock with one day per minute.
type life struct {
	world
	clock  clock
	time   *fakegce.ManualClock // the models' clock; it follows clock
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

// hook is Slurm's call of one of the programs. If the daemon does not accept it within 60 ms, this
// is harmless, because the next pass finds the same work.
func (l *life) hook(verb string, nodes []string) {
	l.running.Go(func() { _ = l.wakeUp(context.Background(), wake.Call{Verb: verb, Nodes: slurm.Fold(nodes)}) })
}

// soak runs days in a folder of their own and judges them. The folder is kept if a value grows or a
// day does not end.
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

// days runs a daemon through days until the given time, and takes a sample at the end of each day.
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

// live runs through a day. It returns when the world is at rest and the daemon has no more callers.
func (l *life) live(ctx context.Context, script []event) {
	begun := l.clock.now()
	guests := letIn(ctx, &l.world)
	defer guests.sendAway() // also after a day that fails
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

// passUntil lets time pass until a condition holds.
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

// judge prints the last line, and fails if a value grows.
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

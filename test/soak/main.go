// Command soak has one daemon live through model days, one after the other, and
// tells whether it holds ever more memory, goroutines, open files or children.
//
//	soak [--for 1h] [--build build]
//
// The daemon is all of slurmflex daemon in a process of its own: rounds, socket,
// page and metrics. Compute is fakegce over TCP, Slurm is fakeslurm behind
// commands that are run as child processes, and both go by a clock of which a
// day takes a minute. Things fail, and callers hang up, as they do at a site. At
// the end of each day, when nothing is left but static nodes, the daemon collects
// its garbage and says what it holds. The models' own memory does not count: it
// is this process'.
//
// It exits with 1 if anything grows.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, unix.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout)
	stop()
	switch {
	case err == nil, errors.Is(err, flag.ErrHelp):
		return
	case !errors.Is(err, errGrows):
		fmt.Fprintln(os.Stderr, "soak:", err)
	}
	os.Exit(1)
}

var errGrows = errors.New("something grows")

func run(ctx context.Context, args []string, out io.Writer) error {
	if len(args) == 3 && args[0] == daemonCommand {
		begun, err := strconv.ParseInt(args[2], 10, 64)
		if err != nil {
			return fmt.Errorf("%q is not when the clock begins: %w", args[2], err)
		}
		return daemon(ctx, args[1], clock{time.Unix(0, begun)}, os.Stdin, out)
	}
	flags := flag.NewFlagSet("soak", flag.ContinueOnError)
	lasts := flags.Duration("for", time.Hour, "how long to go on, in real `time`: a day takes a minute")
	build := flags.String("build", "build", "the `folder` of slurmcommand")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("%q is not a flag; soak --help lists them", flags.Arg(0))
	}
	if least := (fewest + 1) * day / speed; *lasts < least {
		return fmt.Errorf("%v is too short to tell what grows; give %v or more", *lasts, least)
	}
	programs, err := filepath.Abs(*build)
	if err != nil {
		return err
	}
	return soak(ctx, programs, *lasts, out)
}

// soak lives through days in a folder of their own and judges them. The folder
// is kept when something grows, or a day does not end.
func soak(ctx context.Context, programs string, lasts time.Duration, out io.Writer) error {
	dir, err := os.MkdirTemp("", "slurmflex-soak-")
	if err != nil {
		return err
	}
	w, err := newWorld(dir, programs)
	if err != nil {
		return errors.Join(err, os.RemoveAll(dir))
	}
	begun := time.Now()
	samples, err := w.soak(ctx, begun.Add(lasts), out)
	w.shut()
	if err == nil {
		err = judge(samples, time.Since(begun), out)
	}
	if err != nil && ctx.Err() == nil {
		fmt.Fprintf(os.Stderr, "soak: the daemon's log, and profiles of each day's end, are in %s\n", dir)
		return err
	}
	return errors.Join(err, os.RemoveAll(dir))
}

// soak starts a daemon and lives with it until then.
func (w *world) soak(ctx context.Context, until time.Time, out io.Writer) ([]sample, error) {
	p, err := startDaemon(ctx, w.place.dir, w.clock)
	if err != nil {
		return nil, err
	}
	samples, err := w.days(ctx, p, until, out)
	if stopped := p.stop(); err == nil {
		err = stopped
	}
	return samples, err
}

// days lives through days until then, and takes a sample at the end of each.
func (w *world) days(ctx context.Context, p *process, until time.Time, out io.Writer) (samples []sample, err error) {
	for number := 1; time.Now().Before(until); number++ {
		dawn := w.time.Now()
		if err := w.live(ctx, newScript(number)); err != nil {
			return nil, fmt.Errorf("day %d: %w", number, err)
		}
		s, err := p.sample()
		if err != nil {
			return nil, fmt.Errorf("day %d: %w", number, err)
		}
		samples = append(samples, s)
		fmt.Fprintf(out, "day %d, of %.0f h: %v\n", number, w.time.Now().Sub(dawn).Hours(), s)
	}
	return samples, nil
}

// live lives through a day, and returns when it is over, the world at rest and
// nobody calls the daemon any more.
func (w *world) live(ctx context.Context, script []event) error {
	begun := w.clock.now()
	guests := letIn(ctx, w.place)
	err := w.passUntil(ctx, func() (bool, error) {
		now := w.time.Now().Sub(begun)
		for len(script) > 0 && script[0].at <= now {
			if err := script[0].what(ctx, w); err != nil {
				return false, err
			}
			script = script[1:]
		}
		if now < day {
			return false, nil
		}
		left, err := w.left(ctx)
		if err == nil && left != "" && now > latest {
			err = fmt.Errorf("not at rest after %v: %s", now, left)
		}
		return left == "", err
	})
	guests.sendAway()
	if err != nil {
		return err
	}
	gone := time.Now()
	return w.passUntil(ctx, func() (bool, error) { return time.Since(gone) > settle, nil })
}

// settle is how long the daemon is left alone before it is looked at, in real
// time: what callers have left behind has timed out by then, and what the last
// ones brought about is done.
const settle = 3 * time.Second

// passUntil lets time pass until something holds.
func (w *world) passUntil(ctx context.Context, holds func() (bool, error)) error {
	ticks := time.NewTicker(tick)
	defer ticks.Stop()
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-ticks.C:
		}
		w.pass()
		if ok, err := holds(); ok || err != nil {
			return err
		}
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
	fmt.Fprintf(out, "soak: %v, %d days, %d rounds, %s, %s\n", took.Round(time.Second), len(samples), samples[len(samples)-1].Rounds,
		strings.Join(texts, ", "), verdict)
	if len(grown) > 0 {
		return errGrows
	}
	return nil
}

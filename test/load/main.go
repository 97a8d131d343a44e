// Command load tests slurmflex under load. It runs the real programs against the model of Slurm,
// behind commands that run as child processes, and against the fake Compute API over TCP.
//
//	load bench [--build build] [--scripts scripts] [--run REGEXP]
//	load soak [--build build] [--for 1h]
//
// bench measures slurmflex against its targets and prints one line per row: its name, its value,
// its target, and whether it meets the target. Compute's operations take a second.
//
// soak runs one daemon through consecutive days, which take about a minute each, and reports whether its
// memory, goroutines, open files or child processes keep growing.
//
// Each command exits with 1 if a row misses its target or a value grows.
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
	"regexp"
	"time"

	"golang.org/x/sys/unix"

	"slurmflex/test/must"
)

// The failures of slurmflex; the output has already reported them.
var (
	errShort = errors.New("short of a target")
	errGrows = errors.New("something grows")
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, unix.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout)
	stop()
	switch {
	case err == nil, errors.Is(err, flag.ErrHelp):
		return
	case !errors.Is(err, errShort) && !errors.Is(err, errGrows):
		fmt.Fprintln(os.Stderr, "load:", err)
	}
	os.Exit(1)
}

func run(ctx context.Context, args []string, out io.Writer) error {
	verb := ""
	if len(args) > 0 {
		verb, args = args[0], args[1:]
	}
	flags := flag.NewFlagSet("load "+verb, flag.ContinueOnError)
	build := flags.String("build", "build", "the `folder` of the built programs")
	switch verb {
	case "bench":
		scripts := flags.String("scripts", "scripts", "the `folder` of the hooks' wrappers")
		only := flags.String("run", "", "only the trials with a name that matches the `regexp`")
		if err := parse(flags, args); err != nil {
			return err
		}
		wanted, err := regexp.Compile(*only)
		if err != nil {
			return fmt.Errorf("--run %s: %w", *only, err)
		}
		return measure(ctx, *build, *scripts, wanted, out)
	case "soak":
		lasts := flags.Duration("for", time.Hour, "how long to run, in `time`: a day takes about a minute")
		if err := parse(flags, args); err != nil {
			return err
		}
		if least := (fewest + 1) * longestDay; *lasts < least {
			return fmt.Errorf("%v is too short to detect growth; must be %v or more", *lasts, least)
		}
		return soak(ctx, *build, *lasts, out)
	}
	return fmt.Errorf("%q is neither bench nor soak", verb)
}

func parse(flags *flag.FlagSet, args []string) error {
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("%q is not a flag; %s --help lists them", flags.Arg(0), flags.Name())
	}
	return nil
}

// measure runs the selected trials one after the other.
func measure(ctx context.Context, build, scripts string, wanted *regexp.Regexp, out io.Writer) error {
	return must.Try(func() {
		b := &bench{build: must.Get(filepath.Abs(build)), scripts: must.Get(filepath.Abs(scripts)), dir: must.Get(os.MkdirTemp("", "slurmflex-bench-"))}
		defer os.RemoveAll(b.dir)
		var rows []row
		for _, trial := range []struct {
			name string
			run  func(context.Context) []row
		}{{"steady pass", b.steadyPass}, {"wide pass", b.widePass}, {"start of a job", b.startOfAJob}} {
			if wanted.MatchString(trial.name) {
				fmt.Fprintln(os.Stderr, "bench:", trial.name)
				rows = append(rows, trial.run(ctx)...)
			}
		}
		must.Do(write(out, rows))
	})
}

// Command bench measures slurmflex against its targets and prints a line for
// each: what, how much, the target, and whether it is met. The fake Compute API
// runs in a process of its own, over TCP, and its operations take a second.
//
//	bench [--build build] [--scripts scripts] [--json] [--run REGEXP]
//
// It exits with 1 if anything is short of its target.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"

	"golang.org/x/sys/unix"
)

// bench is one run of the program.
type bench struct {
	build   string // the folder of the built programs; absolute
	scripts string // the folder of the hooks' wrappers; absolute
	dir     string // a temporary folder
}

// trial measures one or more rows.
type trial struct {
	name string
	run  func(*bench, context.Context) ([]row, error)
}

// trials are in the order of the table.
func trials() []trial {
	return []trial{
		{"hook with a daemon", (*bench).hookWithDaemon},
		{"hook without a daemon", (*bench).hookWithoutDaemon},
		{"one job of 4", (*bench).oneJobOf4},
		{"100 jobs of 1", (*bench).hundredJobs},
		{"one job of 1000", (*bench).oneJobOf1000},
		{"one job of 5000", (*bench).oneJobOf5000},
		{"steady round", (*bench).steadyRound},
		{"planner", (*bench).planner},
		{"reactions on a hint", (*bench).reactionsOnHint},
		{"reactions within an interval", (*bench).reactionsWithinInterval},
		{"4,000 nodes up and down", (*bench).upAndDown},
		{"binary", (*bench).binary},
	}
}

var errShort = errors.New("short of a target")

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, unix.SIGTERM)
	err := run(ctx, os.Args[1:])
	stop()
	switch {
	case err == nil, errors.Is(err, flag.ErrHelp):
		return
	case !errors.Is(err, errShort):
		fmt.Fprintln(os.Stderr, "bench:", err)
	}
	os.Exit(1)
}

func run(ctx context.Context, args []string) error {
	if len(args) == 2 && args[0] == steadyCommand {
		return steadyRounds(ctx, args[1], os.Stdin, os.Stdout)
	}
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	build := flags.String("build", "build", "the `folder` of slurmflex, slurmflex-hook, slurmflex-fakegce and stopwatch")
	scripts := flags.String("scripts", "scripts", "the `folder` of the hooks' wrappers")
	asJSON := flags.Bool("json", false, "print JSON")
	only := flags.String("run", "", "only the trials whose name matches the `regexp`")
	if err := flags.Parse(args); err != nil {
		return err
	}
	wanted, err := regexp.Compile(*only)
	if err != nil {
		return fmt.Errorf("--run %s: %w", *only, err)
	}
	b := &bench{}
	if b.build, err = filepath.Abs(*build); err != nil {
		return err
	}
	if b.scripts, err = filepath.Abs(*scripts); err != nil {
		return err
	}
	if b.dir, err = os.MkdirTemp("", "slurmflex-bench-"); err != nil {
		return err
	}
	defer os.RemoveAll(b.dir)
	rows, err := b.measure(ctx, wanted)
	if err != nil {
		return err
	}
	write := writeTable
	if *asJSON {
		write = writeJSON
	}
	if err := write(os.Stdout, rows); err != nil {
		return err
	}
	if short(rows) > 0 {
		return errShort
	}
	return nil
}

// measure makes the trials one after the other.
func (b *bench) measure(ctx context.Context, wanted *regexp.Regexp) ([]row, error) {
	var rows []row
	for _, t := range trials() {
		if !wanted.MatchString(t.name) {
			continue
		}
		fmt.Fprintln(os.Stderr, "bench:", t.name)
		some, err := t.run(b, ctx)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", t.name, err)
		}
		rows = append(rows, some...)
	}
	return rows, nil
}

package main

import (
	"context"
	"fmt"
	"os"
	"regexp"

	"slurmflex/test/must"
)

// trial measures rows of the table.
type trial struct {
	name string
	run  func(*bench, context.Context) []float64 // returns one value per row, in order
	rows []target
}

// target is the maximum value of a row.
type target struct {
	name string
	unit string
	most float64
}

// trials returns the table: all rows with their targets.
func trials() []trial {
	const seconds = "s"
	return []trial{
		{"hook with a daemon", (*bench).hookWithDaemon, []target{
			{"hook, daemon alive, 5,000 nodes and 1,000 jobs: median", "ms", 30},
			{"hook, daemon alive: most memory of 40 calls", "MiB", 25},
		}},
		{"steady pass", (*bench).steadyPass, []target{
			{"steady pass, 5,000 nodes, 1,020 groups: CPU", "ms CPU", 200},
			{"steady pass: memory of the process", "MiB", 110},
			{"steady pass: API calls, pages and waiting requests only", "calls", steadyCalls},
			{"steady pass: answers of Compute, compressed", "MiB", 0.3},
		}},
		{"wide pass", (*bench).widePass, []target{
			{"pass over 50,000 nodes in 10 regions, 10,200 groups: CPU", "ms CPU", 5000},
			{"the same: memory of the process", "MiB", 1024},
			{"the same: API calls", "calls", wideRegions * steadyCalls},
			{"the same: answers of Compute, compressed", "MiB", 3},
		}},
		{"request cancelled", (*bench).requestCancelled, []target{
			{"scancel: request cancelled, on a wake-up", seconds, 3},
			{"scancel: request cancelled, no wake-up, interval 30 s", seconds, usualInterval.Seconds()},
		}},
		{"start of a job", (*bench).startOfAJob, []target{
			{"real Slurm: last node registered to job running, waiting: pending: median of 3", seconds, 3},
			{"the same with waiting: configuring", seconds, 30},
		}},
	}
}

// measure runs the selected trials one after the other.
func (b *bench) measure(ctx context.Context, wanted *regexp.Regexp) (rows []row) {
	for _, t := range trials() {
		if wanted.MatchString(t.name) {
			fmt.Fprintln(os.Stderr, "bench:", t.name)
			rows = append(rows, t.measured(t.run(b, ctx))...)
		}
	}
	return rows
}

// measured returns the rows of a trial with their values.
func (t trial) measured(values []float64) (rows []row) {
	if len(values) != len(t.rows) {
		must.Do(fmt.Errorf("trial %s has %d values for %d rows", t.name, len(values), len(t.rows)))
	}
	for i, r := range t.rows {
		rows = append(rows, row{Name: r.name, Value: values[i], Unit: r.unit, Target: r.most, OK: values[i] <= r.most})
	}
	return rows
}

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
		{"hook without a daemon", (*bench).hookWithoutDaemon, []target{
			{"hook, no daemon: median", "ms", 100},
		}},
		{"one job of 4", oneJob(4), []target{
			{"1 job of 4 nodes: hook called to 1 request(s) ACCEPTED", seconds, 2.3},
		}},
		{"100 jobs of 1", (*bench).hundredJobs, []target{
			{"100 jobs of 1 node, 40 calls/s: hook called to all ACCEPTED", seconds, 6},
			{"100 jobs of 1 node: calls that change something, per job", "calls", 2.2},
		}},
		{"100 jobs on 10 kept machines", (*bench).hundredJobsOnKept, []target{
			{"100 jobs of 1 node on 10 kept machines: groups made", "groups", keptMachines},
			{"the same: requests made", "requests", keptMachines},
			{"the same: from job to job on one machine, beyond the jobs' own time", seconds, 2},
		}},
		{"100 jobs in 2 places", (*bench).hundredJobsInTwoPlaces, []target{
			{"100 jobs of 1 node that wait PENDING in 2 partitions, 80 calls/s: submitted to all ACCEPTED", seconds, 6},
			{"the same: calls that change something, per job", "calls", 4.4},
		}},
		{"churn", (*bench).churn, []target{
			{"20 clients that submit and cancel a job of 4 nodes every minute, for 10 minutes: calls that change something, per job", "calls", 6},
			{"the same: groups left 2 minutes later", "groups", 0},
			{"the same: passes in a minute", "passes", 60},
		}},
		{"one job of 1000", oneJob(1000), []target{
			{"1 job of 1000 nodes: hook called to 1 request(s) ACCEPTED", seconds, 2.5},
		}},
		{"one job of 5000", oneJob(5000), []target{
			{"1 job of 5000 nodes: hook called to 5 request(s) ACCEPTED", seconds, 3.5},
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
		{"planner", (*bench).planner, []target{
			{"planner: 1000 nodes", "ms", 2},
			{"planner: 10000 nodes", "ms", 25},
			{"planner: 100000 nodes", "ms", 300},
			{"planner: power of its growth, 1,000 to 100,000 nodes", "power", mostGrowth},
			{"planner: 5,000 nodes, 500 jobs that wait PENDING behind doors", "ms", 40},
		}},
		{"reactions on a wake-up", (*bench).reactionsOnWakeUp, []target{
			{"capacity granted: lease reserved, on a wake-up", seconds, 3},
			{"request FAILED: job back in the queue, on a wake-up", seconds, 3},
			{"scancel: request cancelled, on a wake-up", seconds, 3},
		}},
		{"reactions within an interval", (*bench).reactionsWithinInterval, []target{
			{"capacity granted: lease reserved, no wake-up, interval 30 s", seconds, usualInterval.Seconds()},
			{"request FAILED: job back in the queue, no wake-up, interval 30 s", seconds, usualInterval.Seconds()},
			{"scancel: request cancelled, no wake-up, interval 30 s", seconds, usualInterval.Seconds()},
		}},
		{"4,000 nodes up and down", (*bench).upAndDown, []target{
			{"4,000 nodes for 250 jobs, a fifth of the calls refused: all up", seconds, 1.3 * floor().Seconds()},
			{"the same 4,000 nodes: nothing left after scancel", seconds, 1.3 * floor().Seconds()},
			{"the same: most machines asked for at once", "VMs", manyJobs * manySize},
		}},
		{"start of a job", (*bench).startOfAJob, []target{
			{"real Slurm: last node registered to job running, waiting: pending: median of 3", seconds, 3},
			{"the same with waiting: configuring", seconds, 30},
		}},
		{"jobs that wait", (*bench).jobsWaitPending, []target{
			{"real Slurm, 500 jobs that wait PENDING: Slurm commands of the daemon in a minute", seconds, 5},
			{"the same: main scheduling cycle of slurmctld, mean", "ms", 10},
		}},
		{"history", (*bench).ledger, []target{
			{"history, 100,000 lines: estimate, median", "ms", 1000},
			{"the same: most memory of 5 runs", "MiB", 200},
			{"history, 100,000 lines: cost, median", "ms", 1000},
			{"the same: most memory of 5 runs", "MiB", 200},
			{"history, 100,000 lines: cost --by job, of 50,000, median", "ms", 1000},
			{"the same: most memory of 5 runs", "MiB", 200},
		}},
		{"binary", (*bench).binary, []target{
			{"binary: size", "MiB", 60},
			{"binary: slurmflex version, median", "ms", 20},
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

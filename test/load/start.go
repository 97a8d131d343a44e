package main

import (
	"context"
	"os"
	"regexp"
	"strconv"
	"strings"
	"time"

	"slurmflex/test/lab"
	"slurmflex/test/must"
)

// startOfAJob starts jobs that wait PENDING, and a job that waits CONFIGURING, on the machine's own
// Slurm.
func (b *bench) startOfAJob(ctx context.Context) []row {
	return []row{
		{"real Slurm: last node registered to job running, waiting: pending: median of 3", median(b.starts(ctx, lab.Options{}, 3)), "s", 3},
		{"the same with waiting: configuring", median(b.starts(ctx, lab.Options{Configuring: true}, 1)), "s", 30},
	}
}

// starts returns the seconds from the registration of each job's last node to the start of its
// script.
func (b *bench) starts(ctx context.Context, o lab.Options, jobs int) (seconds []float64) {
	o.Build, o.Scripts, o.Name, o.Daemon = b.build, b.scripts, "bench", true
	l, err := lab.Start(ctx, o)
	defer l.Remove()
	must.Do(err)
	for range jobs {
		out := l.Log("started")
		must.Do(os.WriteFile(out, nil, 0o644))
		id := strings.TrimSpace(must.Get(l.Slurm(ctx, "sbatch", "--parsable", "-p", "train", "-N2", "--time=10", "-o", out, "--wrap", "date +%s.%N; sleep 5")))
		up := awaitTime(ctx, "the nodes to be up", func() bool { return areUp(ctx, l, id) })
		awaitTime(ctx, "the script to start", func() bool { return strings.HasSuffix(must.Text(out), "\n") })
		at := must.Get(strconv.ParseFloat(strings.TrimSpace(must.Text(out)), 64))
		seconds = append(seconds, max(0, at-float64(up.UnixMicro())/1e6))
	}
	return seconds
}

var (
	notUp = regexp.MustCompile("POWERED_DOWN|POWERING_UP|POWERING_DOWN")
	door  = regexp.MustCompile(`\.door-(\d+)-.*\n *Nodes=(\S+)`)
)

// areUp reports whether the job has nodes or a door, and whether all of these nodes have
// registered.
func areUp(ctx context.Context, l *lab.Lab, id string) bool {
	nodes := strings.TrimSpace(must.Get(l.Slurm(ctx, "squeue", "-h", "-j", id, "-o", "%N")))
	for _, d := range door.FindAllStringSubmatch(must.Get(l.Slurm(ctx, "scontrol", "show", "reservation")), -1) {
		if d[1] == id {
			nodes = d[2]
		}
	}
	return nodes != "" && !notUp.MatchString(must.Get(l.Slurm(ctx, "scontrol", "show", "node", nodes)))
}

// awaitTime returns the time at which a condition became true.
func awaitTime(ctx context.Context, what string, holds func() bool) time.Time {
	must.Do(lab.Until(ctx, 2*time.Minute, what, func() (bool, error) { return holds(), nil }))
	return time.Now()
}

package main

import (
	"context"
	"io"
	"net/http"
	"regexp"
	"strconv"
	"time"

	"slurmflex/test/lab"
	"slurmflex/test/must"
)

// Within settles, each job gets a door and its owner is notified. Then the load is measured.
const (
	settles  = time.Minute
	measured = 3 * time.Minute
)

// waitingPending is the number of jobs that wait PENDING at once.
const waitingPending = 500

// jobsWaitPending makes two-node jobs wait PENDING for capacity on the machine's own Slurm, in a
// nodeset of 2,000 nodes. It returns the seconds per minute that the daemon's Slurm commands take,
// and slurmctld's mean main scheduling cycle in the meantime, in ms.
func (b *bench) jobsWaitPending(ctx context.Context) []float64 {
	l, err := lab.Start(ctx, lab.Options{
		Build: b.build, Scripts: b.scripts, Name: "bench", Daemon: true,
		NodeSets: []lab.NodeSet{{Name: "wide", Machine: "a3-highgpu-8g", Size: 2_000, FlexKeys: "use_job_duration: true"}},
	})
	defer l.Remove()
	must.Do(err)
	must.Do(l.Tell(ctx, "capacity", map[string]any{"zone": "", "machineType": "", "count": 0}))
	for range waitingPending {
		must.Get(l.Slurm(ctx, "sbatch", "-p", "wide", "-N2", "--time=60", "--wrap", "true"))
	}
	must.Do(lab.Until(ctx, 5*time.Minute, "a door for each job", func() (bool, error) {
		return len(door.FindAllString(must.Get(l.Slurm(ctx, "scontrol", "show", "reservation")), -1)) == waitingPending, nil
	}))
	time.Sleep(settles)
	must.Get(l.Slurm(ctx, "sdiag", "-r"))
	before := seconds(ctx, l)
	time.Sleep(measured)
	took := (seconds(ctx, l) - before) / measured.Minutes()
	cycle := meanCycle.FindStringSubmatch(must.Get(l.Slurm(ctx, "sdiag")))
	return []float64{took, must.Get(strconv.ParseFloat(cycle[1], 64)) / 1000}
}

var (
	meanCycle = regexp.MustCompile(`Mean cycle: +(\d+)`)
	commands  = regexp.MustCompile(`slurmflex_slurm_command_duration_seconds_sum\{.*\} (\S+)`)
)

// seconds returns the total duration of the daemon's Slurm commands so far.
func seconds(ctx context.Context, l *lab.Lab) (sum float64) {
	answer := must.Get(http.DefaultClient.Do(must.Get(http.NewRequestWithContext(ctx, http.MethodGet, "http://"+l.HTTPAddress()+"/metrics", nil))))
	defer answer.Body.Close()
	for _, found := range commands.FindAllSubmatch(must.Get(io.ReadAll(answer.Body)), -1) {
		sum += must.Get(strconv.ParseFloat(string(found[1]), 64))
	}
	return sum
}

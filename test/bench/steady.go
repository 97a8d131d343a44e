package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"slurmflex/config"
	"slurmflex/flex"
	"slurmflex/mig"
	"slurmflex/mig/gce"
	"slurmflex/test/bench/site"
	"slurmflex/test/fakegce/remote"
)

// The steady cluster: 5,000 nodes, of which 4,000 run 1,000 jobs, 200 wait for
// 20 requests, and the others are powered down.
const (
	steadyNodes   = 5_000
	steadyJobs    = 1_000
	steadySize    = 4
	waitingJobs   = 20
	waitingSize   = 10
	steadyCommand = "steady-rounds"
	page          = 500 // results a page, the most that Compute gives
)

// A steady round reads the pages of groups and instances, and each request
// that waits.
const steadyCalls = (steadyJobs+waitingJobs+page-1)/page + (steadyJobs*steadySize+page-1)/page + waitingJobs

// effort is what rounds cost.
type effort struct {
	CPU    time.Duration  `json:"cpu"`    // ns, of the median round
	Memory int64          `json:"memory"` // bytes, the maximum resident set of the process
	Calls  map[string]int `json:"calls"`  // of all measured rounds, by method
}

// Rounds that a process makes before it is measured: the first read what later
// ones know. And those that are measured.
const (
	warmRounds     = 3
	measuredRounds = 9
)

// steadyRound has a process of its own make rounds over the steady cluster, in
// which nothing is to be done in the cloud.
func (b *bench) steadyRound(ctx context.Context) ([]row, error) {
	f, err := b.startFake(ctx)
	if err != nil {
		return nil, err
	}
	defer f.Stop()
	q, err := b.steadyCluster(ctx, f)
	if err != nil {
		return nil, fmt.Errorf("set the cluster up: %w", err)
	}
	e, err := measureRounds(ctx, f, q)
	if err != nil {
		return nil, err
	}
	if n := changes(e.Calls); n > 0 {
		return nil, fmt.Errorf("rounds over a steady cluster changed something: %v", e.Calls)
	}
	return []row{
		measured("steady round, 5,000 nodes, 1,020 groups: CPU", float64(e.CPU)/millisecond, "ms CPU", 500),
		measured("steady round: memory of the process", float64(e.Memory)/mebibyte, "MiB", 120),
		measured("steady round: API calls, pages and waiting requests only", float64(total(e.Calls))/measuredRounds, "calls", steadyCalls),
	}, nil
}

// steadyCluster brings the steady cluster about, and returns Slurm's half.
func (b *bench) steadyCluster(ctx context.Context, f *fake) (queue, error) {
	h, err := b.newHost(steadyNodes, f.Endpoint, time.Hour)
	if err != nil {
		return queue{}, err
	}
	cfg, err := config.Load(h.path("config.yaml"))
	if err != nil {
		return queue{}, err
	}
	s := idleCluster(steadyNodes)
	r, err := newReconciler(ctx, cfg, s, gce.Options{Rate: 500})
	if err != nil {
		return queue{}, err
	}
	if err := f.room(ctx, steadyJobs*steadySize); err != nil {
		return queue{}, err
	}
	jobs := s.submit(steadyJobs, steadySize, 0)
	if err := settle(ctx, r); err != nil {
		return queue{}, err
	}
	s.start(jobs)
	s.submit(waitingJobs, waitingSize, steadyJobs*steadySize)
	if err := settle(ctx, r); err != nil {
		return queue{}, err
	}
	n, err := f.requests(ctx, mig.Accepted)
	if err == nil && n != waitingJobs {
		err = fmt.Errorf("%d requests wait instead of %d", n, waitingJobs)
	}
	if err != nil {
		return queue{}, err
	}
	q, _ := s.look()
	return q, nil
}

// settle makes rounds until nothing is left to be done.
func settle(ctx context.Context, r *flex.Reconciler) error {
	for range 20 {
		out, err := r.Round(ctx)
		if err != nil {
			return err
		}
		if len(out.Plan.Actions) == 0 && len(out.Plan.Expect) == 0 {
			return nil
		}
	}
	return errors.New("there is still something to do after 20 rounds")
}

// measureRounds starts this program as the process that makes the rounds.
func measureRounds(ctx context.Context, f *fake, q queue) (effort, error) {
	known, err := json.Marshal(q)
	if err != nil {
		return effort{}, err
	}
	self, err := os.Executable()
	if err != nil {
		return effort{}, err
	}
	rounds := exec.CommandContext(ctx, self, steadyCommand, f.Endpoint)
	rounds.Stdin, rounds.Stderr = bytes.NewReader(known), os.Stderr
	out, err := rounds.Output()
	if err != nil {
		return effort{}, err
	}
	var e effort
	return e, json.Unmarshal(out, &e)
}

// steadyRounds is that process: it makes rounds over the queue that it reads,
// and writes what they cost.
func steadyRounds(ctx context.Context, endpoint string, in io.Reader, out io.Writer) error {
	var q queue
	if err := json.NewDecoder(in).Decode(&q); err != nil {
		return fmt.Errorf("read the queue: %w", err)
	}
	cfg, err := config.Parse("steady.yaml", []byte(site.Text(len(q.Nodes), "  compute_endpoint: "+endpoint+"\n")))
	if err != nil {
		return err
	}
	r, err := newReconciler(ctx, cfg, newSlurmctld(q), gce.Options{Rate: 500})
	if err != nil {
		return err
	}
	f := &fake{&remote.Fake{Endpoint: endpoint}}
	var took []time.Duration
	for i := range warmRounds + measuredRounds {
		if i == warmRounds {
			if err := f.forgetCalls(ctx); err != nil {
				return err
			}
		}
		before := cpuTime(unix.CLOCK_PROCESS_CPUTIME_ID)
		if _, err := r.Round(ctx); err != nil {
			return err
		}
		took = append(took, cpuTime(unix.CLOCK_PROCESS_CPUTIME_ID)-before)
	}
	e := effort{CPU: median(took[warmRounds:])}
	if e.Calls, err = f.calls(ctx); err != nil {
		return err
	}
	if e.Memory, err = mostMemory(); err != nil {
		return err
	}
	return json.NewEncoder(out).Encode(e)
}

// mostMemory is the maximum resident set of this process. Unlike getrusage's,
// it leaves out what its parent had.
func mostMemory() (int64, error) {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0, err
	}
	_, rest, _ := strings.Cut(string(status), "\nVmHWM:")
	var kib int64
	if _, err := fmt.Sscanf(rest, "%d kB", &kib); err != nil {
		return 0, fmt.Errorf("VmHWM in /proc/self/status: %w", err)
	}
	return kib << 10, nil
}

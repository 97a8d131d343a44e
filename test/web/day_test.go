//go:build web

package web

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"

	"slurmflex/config"
	"slurmflex/flex"
	"slurmflex/flex/cost"
	"slurmflex/flex/estimate"
	"slurmflex/flex/history"
	"slurmflex/flex/leader"
	"slurmflex/flex/view"
	"slurmflex/flex/wake"
	"slurmflex/flex/web"
	"slurmflex/mig/gce"
	"slurmflex/slurm"
	"slurmflex/test/fakegce"
	"slurmflex/test/fakeslurm"
	"slurmflex/test/must"
)

// dayEnd is the time of the pictures.
var dayEnd = time.Date(2026, time.November, 24, 15, 40, 0, 0, time.UTC)

// set is a nodeset of the day's cluster, with a partition.
type set struct {
	name, partition, region, machine string
	static, dynamic                  int
	keys                             string
	keep                             time.Duration
}

var sets = []set{
	{"a3", "train", "us-central1", "a3-megagpu-8g", 0, 16, "use_job_duration: true, job_duration_margin: 600", 0},
	{"a3-eu", "train-eu", "europe-west4", "a3-megagpu-8g", 0, 8, "use_job_duration: true, job_duration_margin: 600", 0},
	{"l4", "dev", "us-central1", "g2-standard-48", 1, 6, "max_run_duration: 43200, keep_idle: 1800", 30 * time.Minute},
}

// dayConfig returns the day's configuration.
func dayConfig(t *testing.T) *config.Config {
	text := &strings.Builder{}
	fmt.Fprintf(text, "slurm_cluster_name: alpha\nproject: demo\nslurmflex: {interval: 60s, state_dir: %s}\npartitions:\n", t.TempDir())
	for _, s := range sets {
		fmt.Fprintf(text, "  %s: {partition_name: %[1]s, enable_job_exclusive: true, partition_nodeset: [%s]}\n", s.partition, s.name)
	}
	text.WriteString("nodeset:\n")
	for _, s := range sets {
		fmt.Fprintf(text, "  %s: {nodeset_name: %[1]s, node_count_static: %d, node_count_dynamic_max: %d, "+
			"instance_template: projects/demo/regions/%s/instanceTemplates/%[1]s, subnetwork: projects/demo/regions/%[4]s/subnetworks/default, "+
			"zone_policy_allow: [%[4]s-a, %[4]s-b], dws_flex: {%[5]s}}\n", s.name, s.static, s.dynamic, s.region, s.keys)
	}
	return must.Get(config.Parse("alpha.yaml", []byte(text.String())))
}

// order is a job that a user submits at a time of the day.
type order struct {
	at   time.Duration // before the end
	spec fakeslurm.JobSpec
}

func orderOf(at time.Duration, user, partition string, nodes int, limit, run time.Duration) order {
	return order{at, fakeslurm.JobSpec{User: user, Partition: partition, Nodes: nodes, Limit: limit, Run: run}}
}

// orders returns the day's jobs. The last ones are in the state that the pictures show.
func orders() (all []order) {
	random := rand.New(rand.NewPCG(7, 11))
	train := []string{"mchen", "priya", "tomas", "sofia", "jlee"}
	const both, minute, hour = "train,train-eu", time.Minute, time.Hour
	for at := 24 * hour; at > 3*hour; at -= time.Duration(10+random.IntN(50)) * minute {
		o := orderOf(at, "", both, []int{1, 1, 2, 2, 4, 8}[random.IntN(6)], time.Duration([]int{2, 4, 4, 8}[random.IntN(4)])*hour, 0)
		if random.IntN(3) == 0 {
			o = orderOf(at, "", "dev", 1, 4*hour, 0)
		}
		o.spec.Run = time.Duration(float64(o.spec.Limit) * (.3 + .6*random.Float64()))
		o.spec.User = train[random.IntN(len(train))]
		all = append(all, o)
	}
	tasks := orderOf(95*minute, "sofia", "train", 1, 2*hour, hour)
	tasks.spec.Tasks = 3
	return append(all,
		orderOf(160*minute, "priya", both, 8, 8*hour, 7*hour),
		orderOf(130*minute, "mchen", "train", 4, 4*hour, 3*hour),
		tasks,
		orderOf(70*minute, "tomas", "dev", 1, 4*hour, 3*hour),
		orderOf(65*minute, "jlee", "dev", 2, 2*hour, 40*minute),
		orderOf(45*minute, "sofia", "dev", 3, hour, 50*minute),
		orderOf(20*minute, "jlee", "train", 2, 2*hour, hour),
	)
}

// room is the number of machines of type a3 in each zone, from a time before the end on.
var room = []struct {
	at       time.Duration
	machines int
}{
	{25 * time.Hour, 9}, {19 * time.Hour, 4}, {16 * time.Hour, 10}, {9 * time.Hour, 3}, {7 * time.Hour, 10}, {150 * time.Minute, 8}, {75 * time.Minute, 2},
}

// liveADay runs the real reconciler for a day on a model of Slurm and a fake Compute, in model time,
// and returns the daemon's server as it is at the end.
func liveADay(t *testing.T) *web.Server {
	cfg := dayConfig(t)
	lockDir, prices := filepath.Join(t.TempDir(), "lock"), filepath.Join(t.TempDir(), "prices.yaml")
	require.NoError(t, os.Mkdir(lockDir, 0o700))
	require.NoError(t, os.WriteFile(prices, []byte("currency: USD\nmachines:\n  g2-standard-48: {flex: 2.10}\n  a3-megagpu-8g: {flex: 46.00}\n"), 0o644))
	server := &web.Server{Address: "127.0.0.1:0", Log: zap.NewNop(), Now: func() time.Time { return dayEnd }}
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(dayEnd.Add(-25 * time.Hour)))
		writeHistory(t, cfg)
		ctx, cancel := context.WithCancel(t.Context())
		ended := false
		now := func() time.Time {
			if ended {
				return dayEnd
			}
			return time.Now()
		}
		server.Board = web.NewBoard(cfg, now)
		estimates, money := &estimate.Shown{Dir: cfg.Options.StateDir, Cluster: cfg.Cluster}, &cost.Shown{Path: prices, Log: zap.NewNop()}
		server.Board.Fill = func(v *view.View) { estimates.Fill(v); money.Fill(v) }
		c := newCluster(ctx, t, cfg)
		record := &history.Recorder{Dir: cfg.Options.StateDir, Cluster: cfg.Cluster, Log: zap.NewNop(), Notify: func(history.News) {}, Remembers: true}
		server.Board.History, c.reconciler.Watch = record, flex.Watchers{server.Board.Watcher(), record.Watcher()}
		done := make(chan error)
		go func() { done <- c.reconciler.Run(ctx, leader.Lock{Dir: lockDir}, c.wakeUps) }()
		c.play()
		synctest.Wait() // a pass in which cancel arrives may show a problem
		ended = true
		cancel()
		require.NoError(t, <-done)
		record.Wait(time.Hour)
	})
	return server
}

// dayCluster is the day's Slurm and Compute.
type dayCluster struct {
	t          *testing.T
	slurm      *fakeslurm.Cluster
	cloud      *fakegce.Server
	reconciler *flex.Reconciler
	wakeUps    chan wake.Call
}

func newCluster(ctx context.Context, t *testing.T, cfg *config.Config) *dayCluster {
	c := &dayCluster{t: t, wakeUps: make(chan wake.Call, 1)}
	options := fakeslurm.Options{
		Version: "26.05.5", ResumeTimeout: 18 * time.Hour, SuspendTimeout: time.Minute, SuspendTime: 5 * time.Minute,
		Resume: func([]string, []uint32) { c.wake() }, Suspend: func([]string) { c.wake() }, ResumeFail: func([]string) { c.wake() },
	}
	for _, s := range sets {
		p := slurm.Partition{Name: s.partition, Exclusive: true, PowerDownOnIdle: s.keep == 0}
		if s.keep > 0 {
			p.SuspendTime = slurm.Limit{Kind: slurm.LimitSet, Duration: s.keep}
		}
		for i := range s.static + s.dynamic {
			p.Nodes = append(p.Nodes, fmt.Sprintf("alpha-%s-%d", s.name, i))
		}
		options.SuspendExc = append(options.SuspendExc, p.Nodes[:s.static]...)
		options.Nodes, options.Partitions = append(options.Nodes, p.Nodes...), append(options.Partitions, p)
	}
	c.slurm = fakeslurm.New(options)
	c.cloud = fakegce.New(fakegce.Options{
		OperationTime: 3 * time.Second, QueueTime: 40 * time.Second, BootTime: 2 * time.Minute, DeleteTime: 40 * time.Second,
		OnBoot: func(in fakegce.Instance) {
			boot := time.Now()
			time.AfterFunc(30*time.Second, func() { c.slurm.Register(in.Name, boot) })
		},
		OnDelete: func(in fakegce.Instance) { c.slurm.Silence(in.Name) },
	})
	for _, s := range sets {
		must.Get(c.cloud.AddTemplate(s.region, fakegce.FlexTemplate(s.name, s.machine)))
	}
	client, err := gce.New(ctx, gce.Options{Project: "demo", Endpoint: "http://compute.test", Transport: c.cloud.Transport()})
	require.NoError(t, err)
	c.reconciler = &flex.Reconciler{
		Config: cfg, Scheduler: c.slurm, Cloud: client, Log: zap.NewNop(), Now: time.Now, Promises: true,
		Jitter: func(d time.Duration) time.Duration { return d },
	} // the same day each time
	return c
}

func (c *dayCluster) wake() {
	select {
	case c.wakeUps <- wake.Call{Verb: "resume"}:
	default:
	}
}

// play submits the jobs and changes the capacity until the end of the day.
func (c *dayCluster) play() {
	jobs, changes := orders(), room
	for left := time.Until(dayEnd); left > 0; left = time.Until(dayEnd) {
		for len(changes) > 0 && changes[0].at >= left {
			for _, zone := range []string{"us-central1-a", "us-central1-b", "europe-west4-a", "europe-west4-b"} {
				c.cloud.SetCapacity(zone, "a3-megagpu-8g", changes[0].machines)
			}
			changes = changes[1:]
		}
		for len(jobs) > 0 && jobs[0].at >= left {
			_, err := c.slurm.Submit(jobs[0].spec)
			require.NoError(c.t, err)
			jobs = jobs[1:]
		}
		time.Sleep(time.Second)
		c.slurm.Step()
	}
}

// writeHistory writes three weeks of waits.
func writeHistory(t *testing.T, cfg *config.Config) {
	random := rand.New(rand.NewPCG(3, 5))
	var entries []history.Entry
	for i := range 400 {
		nodes := []int{1, 2, 4, 8}[random.IntN(4)]
		from := history.At(time.Now().Add(-time.Duration(random.IntN(21*24*60)) * time.Minute))
		entries = append(entries, history.Entry{
			Version: history.Version, Kind: history.Wait, ID: fmt.Sprint("earlier-", i), NodeSet: cmp.Or(map[int]string{0: "a3-eu"}[i%3], "a3"), Machine: "a3-megagpu-8g",
			Region: "us-central1", Count: nodes, GPUs: 8 * nodes, Seconds: []int64{7800, 15000, 29400}[random.IntN(3)],
			From: from, To: from + history.Time(3600*math.Sqrt(float64(nodes))*math.Exp(random.NormFloat64())), End: history.Granted,
		})
	}
	require.NoError(t, history.Append(cfg.Options.StateDir, "alpha", false, entries))
}

package flex

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"slurmflex/config"
	"slurmflex/flex/leader"
	"slurmflex/flex/plan"
	"slurmflex/flex/plan/scene"
	"slurmflex/mig/gce"
	"slurmflex/slurm"
	"slurmflex/test/fakegce"
	"slurmflex/test/must"
)

// alpha is a cluster in two regions. Nodes of a3 are provisioned job by job, nodes of one
// individually.
const alpha = `
slurm_cluster_name: alpha
project: demo
partitions:
  train: {enable_job_exclusive: true, partition_nodeset: [a3]}
  shared: {partition_nodeset: [a3, one, cpu]}
nodeset:
  a3: {node_count_dynamic_max: 8, instance_template: projects/demo/regions/us-central1/instanceTemplates/flex,
    subnetwork: projects/demo/regions/us-central1/subnetworks/default, zone_policy_allow: [us-central1-a],
    dws_flex: {use_job_duration: true}}
  one: {node_count_dynamic_max: 4, instance_template: projects/demo/regions/europe-west4/instanceTemplates/flex,
    subnetwork: projects/demo/regions/europe-west4/subnetworks/default, zone_policy_allow: [europe-west4-b],
    dws_flex: {provisioning: node_by_node, max_run_duration: 7200}}
  cpu: {node_count_dynamic_max: 2}
`

const (
	us     = "us-central1"
	europe = "europe-west4"
)

// world is a test that connects a reconciler to a fake Slurm and, through the real client, to a fake Compute,
// all with fake time.
type world struct {
	*testing.T
	*Reconciler
	slurm *controller
	cloud *fakegce.Server
	wire  *wire
	log   *observer.ObservedLogs
	lock  leader.Lock
}

// inWorld runs a test in a world with operations of one second and machines that boot in ten
// seconds. A booted machine registers with Slurm.
func inWorld(t *testing.T, run func(*world), change ...func(*fakegce.Options)) {
	t.Helper()
	dir := privateFolder(t)
	synctest.Test(t, func(t *testing.T) {
		w := &world{T: t, slurm: newController(t.Context(), must.Get(config.Parse("alpha.yaml", []byte(alpha)))), lock: leader.Lock{Dir: dir}}
		o := fakegce.Options{
			OperationTime: time.Second, BootTime: 10 * time.Second, DeleteTime: 5 * time.Second,
			OnBoot:   func(in fakegce.Instance) { w.slurm.Register(in.Name, time.Now()) },
			OnDelete: func(in fakegce.Instance) { w.slurm.Silence(in.Name) },
		}
		for _, c := range change {
			c(&o)
		}
		w.cloud = fakegce.New(o)
		for _, region := range []string{us, europe} {
			must.Get(w.cloud.AddTemplate(region, fakegce.FlexTemplate("flex", "a3-highgpu-8g")))
		}
		w.wire = &wire{next: w.cloud.Transport()}
		w.begin()
		run(w)
	})
}

// eachInWorld runs a test for each case, each in a world of its own.
func eachInWorld[T any](t *testing.T, cases map[string]T, run func(*world, T)) {
	t.Helper()
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(w *world) { run(w, c) })
		})
	}
}

// eachStory runs each story in a world of its own.
func eachStory(t *testing.T, stories map[string]func(*world)) {
	t.Helper()
	eachInWorld(t, stories, func(w *world, story func(*world)) { story(w) })
}

// begin replaces the reconciler by a new one without memory, as in a process that has just started.
func (w *world) begin() {
	w.Helper()
	client, err := gce.New(w.Context(), gce.Options{Project: "demo", Endpoint: "http://compute.test", Transport: w.wire})
	require.NoError(w, err)
	core, log := observer.New(zap.InfoLevel)
	w.log = log
	w.Reconciler = &Reconciler{
		Config: w.slurm.cfg, Scheduler: w.slurm, Cloud: client, Log: zap.New(core), Now: time.Now,
	}
}

// wire carries the calls to the cloud. The process may die at one of the calls, before the call
// acts or immediately afterwards.
type wire struct {
	next     http.RoundTripper
	lastCall int // number of the call at which the process dies; 0: none
	lastActs bool
	mu       sync.Mutex
	calls    int
	die      context.CancelFunc
}

func (w *wire) RoundTrip(req *http.Request) (*http.Response, error) {
	w.mu.Lock()
	w.calls++
	last, die := w.calls == w.lastCall, w.die
	w.mu.Unlock()
	if !last {
		return w.next.RoundTrip(req)
	}
	if w.lastActs {
		_, _ = w.next.RoundTrip(req)
	}
	die()
	return nil, context.Canceled
}

// onDeath sets the function that ends the process.
func (w *wire) onDeath(die context.CancelFunc) {
	defer locked(&w.mu)()
	w.die = die
}

// mustPass makes a pass that must observe successfully.
func (w *world) mustPass(only ...Filter) Outcome {
	w.Helper()
	out, err := w.Reconciler.pass(w.Context(), untilEnded, only...)
	require.NoError(w, err)
	return out
}

// within makes a pass and waits for its actions for at most patience.
func (w *world) within(patience time.Duration) {
	w.Helper()
	_, err := w.pass(w.Context(), patience)
	require.NoError(w, err)
}

// observed returns a new snapshot.
func (w *world) observed() scene.Snapshot {
	w.Helper()
	snap, err := w.observe(w.Context())
	require.NoError(w, err)
	return snap
}

// fault makes calls to the cloud fail.
func (w *world) fault(f fakegce.Fault) {
	w.Helper()
	require.NoError(w, w.cloud.AddFault(f))
}

// soldOut leaves no capacity for further machines.
func (w *world) soldOut() { w.cloud.SetCapacity("", "", 0) }

// look returns what a pass would see and do.
func (w *world) look() (*scene.Scene, plan.Plan) {
	w.Helper()
	s, p, err := w.Look(w.Context())
	require.NoError(w, err)
	return s, p
}

// refuses makes operations of a method end with an error.
func (w *world) refuses(method, code, words string) {
	w.Helper()
	w.fault(fakegce.Fault{Method: method, OperationError: &fakegce.Problem{Code: code, Message: words}})
}

// settle reconciles until no change is expected soon. If the process dies, another one follows.
func (w *world) settle() {
	w.Helper()
	for range 60 {
		ctx, die := context.WithCancel(w.Context())
		w.wire.onDeath(die)
		out, err := w.Reconciler.pass(ctx, untilEnded)
		died := ctx.Err() != nil
		die()
		switch {
		case died:
			w.begin()
		case err == nil && !out.soon():
			return
		default:
			require.NoError(w, err)
		}
		time.Sleep(time.Second)
	}
	w.Fatalf("not settled after 60 passes; the cloud has %q", w.owned())
}

// running submits a job and waits until its machines have booted.
func (w *world) running(job uint32, partition, nodes string) {
	w.Helper()
	w.served(job, partition, nodes)
	time.Sleep(time.Minute)
	w.settle()
}

// oneJob submits job 1 for node alpha-a3-0.
func (w *world) oneJob() { w.slurm.submit(1, "train", "alpha-a3-0") }

// starts lets job 1, on alpha-a3-0, run.
func (w *world) starts() {
	time.Sleep(2 * time.Second)
	w.slurm.Register("alpha-a3-0", time.Now())
	time.Sleep(time.Minute)
}

// poweredDown makes a node idle and POWERED_DOWN.
func (w *world) poweredDown(name string) {
	w.Helper()
	for _, state := range []string{"power_down_force", "resume"} {
		require.NoError(w, w.slurm.Cluster.UpdateNodes(w.Context(), []string{name}, slurm.NodeChange{State: state}))
		time.Sleep(2 * time.Second)
	}
}

// synced makes a pass as slurmflex sync does.
func (w *world) synced() Outcome {
	w.Helper()
	out, err := w.Sync(w.Context(), w.lock)
	require.NoError(w, err)
	return out
}

// served submits a job and requests its nodes.
func (w *world) served(job uint32, partition, nodes string) {
	w.Helper()
	w.slurm.submit(job, partition, nodes)
	w.settle()
}

// waiting submits a job for nodes without capacity.
func (w *world) waiting(job uint32, partition, nodes string) {
	w.Helper()
	w.soldOut()
	w.served(job, partition, nodes)
}

// cancelled cancels a job and cleans up after it.
func (w *world) cancelled(job uint32) {
	w.Helper()
	w.slurm.cancel(job)
	w.settle()
}

// passes makes n passes, apart from each other by the given time.
func (w *world) passes(n int, apart time.Duration) {
	w.Helper()
	for range n {
		w.mustPass()
		time.Sleep(apart)
	}
}

// mutations returns the methods of the changing calls.
func (w *world) mutations() []string {
	methods := []string{}
	for _, c := range w.cloud.Calls() {
		_, verb, _ := strings.Cut(c.Method, ".")
		if c.Verb != http.MethodGet && verb != "wait" && verb != "listManagedInstances" {
			methods = append(methods, c.Method)
		}
	}
	return methods
}

// owns compares the cloud's contents with lines of owned.
func (w *world) owns(lines ...string) {
	w.Helper()
	require.Equal(w, lines, w.owned())
}

// owned lists the cloud's contents, one line per thing, without times.
func (w *world) owned() []string {
	lines := []string{}
	st := w.cloud.State()
	for _, g := range st.Groups {
		lines = append(lines, fmt.Sprintf("group %s in %s of size %d", g.Name, g.Region, g.TargetSize))
		for _, r := range g.Requests {
			lines = append(lines, fmt.Sprintf("request %s/%s for %s: %s", g.Name, r.Name, slurm.Fold(r.Instances), r.State))
		}
	}
	for _, in := range st.Instances {
		lines = append(lines, fmt.Sprintf("instance %s of %s: %s", in.Name, in.Group, in.Status))
	}
	return lines
}

// locked locks mu until the returned function is called.
func locked(mu *sync.Mutex) (unlock func()) {
	mu.Lock()
	return mu.Unlock
}

// privateFolder creates a folder suitable for a lock.
func privateFolder(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.Chmod(dir, 0o700))
	return dir
}

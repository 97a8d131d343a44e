package flex

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"slurmflex/config"
	"slurmflex/mig"
	"slurmflex/mig/gce"
	"slurmflex/slurm"
	"slurmflex/test/fakegce"
)

// alpha is a cluster in two regions: nodes of a3 come job by job, those of one
// each by itself.
const alpha = `
slurm_cluster_name: alpha
project: demo
partitions:
  train: {partition_name: train, enable_job_exclusive: true, partition_nodeset: [a3]}
  shared: {partition_name: shared, partition_nodeset: [a3, one, cpu]}
nodeset:
  a3:
    nodeset_name: a3
    node_count_dynamic_max: 8
    instance_template: projects/demo/regions/us-central1/instanceTemplates/flex
    subnetwork: projects/demo/regions/us-central1/subnetworks/default
    zone_policy_allow: [us-central1-a]
    dws_flex: {use_job_duration: true}
  one:
    nodeset_name: one
    node_count_dynamic_max: 4
    instance_template: projects/demo/regions/europe-west4/instanceTemplates/flex
    subnetwork: projects/demo/regions/europe-west4/subnetworks/default
    zone_policy_allow: [europe-west4-b]
    dws_flex: {provisioning: node_by_node, max_run_duration: 7200}
  cpu:
    nodeset_name: cpu
    node_count_dynamic_max: 2
`

const (
	us     = "us-central1"
	europe = "europe-west4"
)

func alphaConfig(t testing.TB) *config.Config {
	t.Helper()
	cfg, err := config.Parse("alpha.yaml", []byte(alpha))
	require.NoError(t, err)
	return cfg
}

// world is a reconciler between a Slurm of the tests' own and a fake Compute
// that it reaches through the real client, all in a bubble's time.
type world struct {
	*Reconciler
	t     *testing.T
	slurm *controller
	cloud *fakegce.Server
	wire  *wire
	log   *observer.ObservedLogs
	lock  Lock
}

// inWorld runs a test in a world where operations take a second and machines
// boot in ten. A machine that has booted registers with Slurm.
func inWorld(t *testing.T, run func(*testing.T, *world), change ...func(*fakegce.Options)) {
	t.Helper()
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		ctld := newController(alphaConfig(t))
		o := fakegce.Options{
			OperationTime: time.Second, BootTime: 10 * time.Second, DeleteTime: 5 * time.Second,
			OnBoot: func(in fakegce.Instance) { ctld.register(in.Name) },
		}
		for _, c := range change {
			c(&o)
		}
		w := &world{t: t, slurm: ctld, cloud: fakegce.New(o), lock: Lock{Dir: dir}}
		for _, region := range []string{us, europe} {
			_, err := w.cloud.AddTemplate(region, fakegce.FlexTemplate("flex", "a3-highgpu-8g"))
			require.NoError(t, err)
		}
		w.wire = &wire{next: w.cloud.Transport()}
		w.begin()
		run(t, w)
	})
}

// begin puts a reconciler in place that remembers nothing, as that of a
// process that has just been started.
func (w *world) begin() {
	w.t.Helper()
	client, err := gce.New(w.t.Context(), gce.Options{Project: "demo", Endpoint: "http://compute.test", Transport: w.wire})
	require.NoError(w.t, err)
	core, log := observer.New(zap.InfoLevel)
	w.log = log
	w.Reconciler = &Reconciler{
		Config: w.slurm.cfg, Scheduler: w.slurm, Cloud: client, Log: zap.New(core), Now: time.Now,
	}
}

// wire carries the calls to the cloud. At the call of that number the process
// dies.
type wire struct {
	next  http.RoundTripper
	mu    sync.Mutex
	calls int
	death death
}

type death struct {
	at    int  // 1 is the next call; 0: never
	after bool // the call still acts
	die   func()
}

func (w *wire) RoundTrip(req *http.Request) (*http.Response, error) {
	w.mu.Lock()
	w.calls++
	last := w.calls == w.death.at
	w.mu.Unlock()
	if !last {
		return w.next.RoundTrip(req)
	}
	defer w.death.die()
	if w.death.after {
		_, err := w.next.RoundTrip(req)
		return nil, fmt.Errorf("nobody is there to read the answer: %w", err)
	}
	return nil, context.Canceled
}

// round makes a round that must succeed in looking.
func (w *world) round(ctx context.Context, only ...Filter) Outcome {
	w.t.Helper()
	out, err := w.Round(ctx, only...)
	require.NoError(w.t, err)
	return out
}

// settle makes rounds until nothing is to be expected soon.
func (w *world) settle() {
	w.t.Helper()
	for range 60 {
		if !w.round(w.t.Context()).Soon() {
			return
		}
		time.Sleep(time.Second)
	}
	w.t.Fatalf("not settled after 60 rounds; the cloud has %q", w.owned())
}

// running has a job's machines there and booted.
func (w *world) running(job uint32, partition, nodes string) {
	w.t.Helper()
	w.slurm.submit(job, partition, nodes)
	w.settle()
	time.Sleep(time.Minute)
	w.settle()
}

// mutations are the methods that were called to change something.
func (w *world) mutations() []string {
	methods := []string{}
	for _, c := range w.cloud.Calls() {
		if c.Verb != http.MethodGet && c.Method != "regionOperations.wait" {
			methods = append(methods, c.Method)
		}
	}
	return methods
}

// owned is what the cloud has, a line for each thing, without times.
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

// controller stands for slurmctld: nodes, jobs, and what scontrol update does
// to them as far as a round uses it.
type controller struct {
	cfg *config.Config

	mu      sync.Mutex
	nodes   map[string]*slurm.Node
	jobs    map[uint32]*slurm.Job
	updates []string
	reads   []time.Time // when the nodes were read
	down    error       // why it cannot be asked
}

func newController(cfg *config.Config) *controller {
	c := &controller{cfg: cfg, nodes: map[string]*slurm.Node{}, jobs: map[uint32]*slurm.Job{}}
	for _, set := range cfg.NodeSets {
		for i := range set.Size() {
			name := set.NodeName(cfg.Cluster, i)
			c.nodes[name] = &slurm.Node{Name: name, State: slurm.ParseState("IDLE+CLOUD+POWERED_DOWN")}
		}
	}
	return c
}

func (c *controller) Nodes(context.Context) ([]slurm.Node, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.reads = append(c.reads, time.Now())
	var nodes []slurm.Node
	for _, n := range c.nodes {
		nodes = append(nodes, *n)
	}
	return nodes, c.down
}

func (c *controller) Jobs(context.Context) ([]slurm.Job, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var jobs []slurm.Job
	for _, j := range c.jobs {
		jobs = append(jobs, *j)
	}
	return jobs, c.down
}

func (c *controller) UpdateNodes(_ context.Context, names []string, change slurm.NodeChange) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.updates = append(c.updates, fmt.Sprintf("%s %s %s", slurm.Fold(names), change.State, change.Reason))
	for _, name := range names {
		n := c.nodes[name]
		n.Reason = change.Reason
		switch change.State {
		case "power_down": // once it is idle
			n.State.Flags |= slurm.PowerDown
		case "power_down_force":
			n.State = slurm.ParseState("IDLE+CLOUD+POWERING_DOWN")
			for _, j := range c.jobs {
				if slices.Contains(j.Nodes, name) {
					j.State, j.Nodes = slurm.JobPending, nil
				}
			}
		default:
			return fmt.Errorf("slurm_update error: Invalid node state specified: %s", change.State)
		}
	}
	return nil
}

// set puts nodes into a state.
func (c *controller) set(list, state string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, name := range names(list) {
		c.nodes[name].State = slurm.ParseState(state)
	}
}

// submit places a job of an hour on nodes, and powers those up that are down.
func (c *controller) submit(id uint32, partition, list string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.jobs[id] = &slurm.Job{
		ID: id, ArrayID: id, Partition: partition, State: slurm.JobConfiguring, Nodes: names(list),
		Limit: slurm.Limit{Kind: slurm.LimitSet, Duration: time.Hour},
	}
	for _, name := range names(list) {
		c.nodes[name].State = slurm.ParseState("ALLOCATED+CLOUD+NOT_RESPONDING+POWERING_UP")
	}
}

// cancel takes a job out of the queue. Its nodes go on powering up for nobody,
// and are powered down if they were up.
func (c *controller) cancel(id uint32) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, name := range c.jobs[id].Nodes {
		n := c.nodes[name]
		n.LastBusyTime = time.Now()
		if n.State.Has(slurm.PoweringUp) {
			n.State = slurm.ParseState("IDLE+CLOUD+NOT_RESPONDING+POWERING_UP")
		} else {
			n.State = slurm.ParseState("IDLE+CLOUD+POWERING_DOWN")
		}
	}
	delete(c.jobs, id)
}

// register is what slurmd does when it comes up on the machine.
func (c *controller) register(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.nodes[name].State.Flags &^= slurm.PoweringUp | slurm.NotResponding
}

// refuse has every question answered with an error; nil ends that.
func (c *controller) refuse(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.down = err
}

// updated is what nodes were updated to so far.
func (c *controller) updated() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.updates)
}

// rounds is when rounds began.
func (c *controller) rounds() []time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.reads)
}

// queue is the jobs in the queue by their state.
func (c *controller) queue() map[uint32]slurm.JobState {
	c.mu.Lock()
	defer c.mu.Unlock()
	states := map[uint32]slurm.JobState{}
	for id, j := range c.jobs {
		states[id] = j.State
	}
	return states
}

func names(list string) []string {
	all, err := slurm.Expand(list)
	if err != nil {
		panic(err)
	}
	return all
}

// hungCloud is a cloud whose CreateRequest for one group does not come back
// until it is let go, and then acts.
type hungCloud struct {
	Cloud
	group string
	let   chan struct{}
	mu    sync.Mutex
	asked map[string]int // how often requests were created, by group
}

func hang(w *world, group string) *hungCloud {
	h := &hungCloud{Cloud: w.Cloud, group: group, let: make(chan struct{}), asked: map[string]int{}}
	w.Cloud = h
	return h
}

func (h *hungCloud) CreateRequest(ctx context.Context, region, group string, spec mig.RequestSpec) error {
	h.mu.Lock()
	h.asked[group]++
	h.mu.Unlock()
	if group == h.group {
		select {
		case <-h.let:
		case <-ctx.Done():
			return &mig.Error{Op: "create resize request", Object: group, Cause: mig.CauseUnavailable, Err: ctx.Err()}
		}
	}
	return h.Cloud.CreateRequest(ctx, region, group, spec)
}

// begun is how often requests were created, by group.
func (h *hungCloud) begun() map[string]int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return maps.Clone(h.asked)
}

package metrics

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"slurmflex/config"
	"slurmflex/flex"
	"slurmflex/flex/plan"
	"slurmflex/flex/plan/scene"
	"slurmflex/mig"
	"slurmflex/slurm"
)

const alpha = `
slurm_cluster_name: alpha
project: demo
nodeset:
  a3: {node_count_static: 1, node_count_dynamic_max: 3, instance_template: projects/demo/regions/us-central1/instanceTemplates/a3,
    subnetwork: projects/demo/regions/us-central1/subnetworks/default, zone_policy_allow: [us-central1-a], dws_flex: {}}
  g2: {node_count_dynamic_max: 1, instance_template: projects/demo/regions/europe-west4/instanceTemplates/g2,
    subnetwork: projects/demo/regions/europe-west4/subnetworks/default, zone_policy_allow: [europe-west4-b], dws_flex: {}}
  cpu: {node_count_dynamic_max: 1}
slurmflex: {metrics_by_account: true}
`

const (
	us     = "us-central1"
	europe = "europe-west4"
	rising = "ALLOCATED+CLOUD+NOT_RESPONDING+POWERING_UP"
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// world is metrics at a time that the test sets, and what the next pass sees.
type world struct {
	*Metrics
	t        *testing.T
	cfg      *config.Config
	registry *prometheus.Registry
	now      time.Time
	snap     scene.Snapshot
	plan     plan.Plan
}

// newWorld is a world at noon with all nodes powered down.
func newWorld(t *testing.T) *world {
	t.Helper()
	cfg, err := config.Parse("alpha.yaml", []byte(alpha))
	require.NoError(t, err)
	w := &world{t: t, cfg: cfg, registry: prometheus.NewPedanticRegistry(), now: noon}
	w.Metrics = New(w.registry, cfg, "v1", func() time.Time { return w.now })
	for _, name := range []string{"alpha-a3-0", "alpha-a3-1", "alpha-a3-2", "alpha-a3-3", "alpha-g2-0", "alpha-cpu-0"} {
		w.snap.Nodes = append(w.snap.Nodes, slurm.Node{Name: name, State: slurm.ParseState("IDLE+CLOUD+POWERED_DOWN")})
	}
	return w
}

// node gives a node another state.
func (w *world) node(name, state string) {
	for i := range w.snap.Nodes {
		if w.snap.Nodes[i].Name == name {
			w.snap.Nodes[i].State = slurm.ParseState(state)
		}
	}
}

// group makes a group of that nodeset, with these requests.
func (w *world) group(region, name, nodeset string, requests ...mig.Request) *mig.Group {
	w.snap.Groups = append(w.snap.Groups, mig.Group{
		Name: name, Region: region, Requests: requests,
		Stamp: mig.Stamp{Version: 1, Cluster: "alpha", NodeSet: nodeset},
	})
	return &w.snap.Groups[len(w.snap.Groups)-1]
}

// machine is made in a group now.
func (w *world) machine(region, group, name string) *mig.Instance {
	w.snap.Instances = append(w.snap.Instances, mig.Instance{
		Name: name, Region: region, Zone: region + "-a", Group: group, Status: "RUNNING", Created: w.now,
	})
	return &w.snap.Instances[len(w.snap.Instances)-1]
}

// pass is a pass of two seconds, that long after the last one.
func (w *world) pass(after time.Duration) {
	w.now = w.now.Add(after)
	w.snap.Begun, w.snap.Now = w.now.Add(-time.Second), w.now
	w.Saw(scene.Of(w.cfg, w.snap), w.plan)
	w.now = w.now.Add(time.Second)
	w.Stood(nil)
	w.now = w.now.Add(-time.Second)
}

// has holds the metrics of some names against lines of a page of metrics.
func (w *world) has(lines string, names ...string) {
	w.t.Helper()
	families, err := w.registry.Gather()
	require.NoError(w.t, err)
	var help strings.Builder
	for _, f := range families {
		for _, name := range names {
			if f.GetName() == name {
				fmt.Fprintf(&help, "# HELP %s %s\n# TYPE %s %s\n", name, f.GetHelp(), name, strings.ToLower(f.GetType().String()))
				for line := range strings.Lines(lines) {
					if strings.HasPrefix(line, name+"{") || strings.HasPrefix(line, name+" ") || strings.HasPrefix(line, name+"_") {
						help.WriteString(line)
					}
				}
			}
		}
	}
	require.NoError(w.t, testutil.GatherAndCompare(w.registry, strings.NewReader(help.String()), names...))
}

// value is the value of one counter or gauge.
func (w *world) value(name string, labels ...string) float64 {
	w.t.Helper()
	families, err := w.registry.Gather()
	require.NoError(w.t, err)
	for _, f := range families {
		for _, m := range f.GetMetric() {
			var values []string
			for _, l := range m.GetLabel() {
				values = append(values, l.GetValue())
			}
			if f.GetName() != name || strings.Join(values, ",") != strings.Join(labels, ",") {
				continue
			}
			if m.GetHistogram() != nil {
				return m.GetHistogram().GetSampleSum()
			}
			return m.GetCounter().GetValue() + m.GetGauge().GetValue()
		}
	}
	require.Fail(w.t, "no such metric", "%s %v", name, labels)
	return 0
}

func TestActionsAreCountedByKindAndOutcome(t *testing.T) {
	w := newWorld(t)
	w.Did(plan.CreateGroup{}, noon, time.Second, nil)
	w.Did(plan.CreateGroup{}, noon, time.Second, &mig.Error{Cause: mig.CauseQuota, Err: errors.New("none left")})
	w.Did(plan.SetNodes{}, noon, time.Second, errors.New("Unable to contact slurm controller"))
	w.Did(plan.WarnJob{}, noon, time.Second, nil)
	for outcome, want := range map[string]float64{"done": 1, "failed": 1} {
		assert.Equal(t, want, w.value("slurmflex_actions_total", "create_group", outcome), outcome)
	}
	assert.Equal(t, 1.0, w.value("slurmflex_actions_total", "warn_job", "done"))
	assert.Zero(t, w.value("slurmflex_actions_total", "return_nodes", "done"), "it was not returned")
	for cause, want := range map[string]float64{"quota": 1, "slurm": 1, "permission": 0, "unknown": 0} {
		assert.Equal(t, want, w.value("slurmflex_failures_total", cause), cause)
	}
	assert.InDelta(t, noon.Unix(), w.value("slurmflex_last_failure_timestamp_seconds", "quota"), 0)
	assert.Zero(t, w.value("slurmflex_last_failure_timestamp_seconds", "permission"))
}

func TestAQuotaThatARequestWaitsForIsAFailureAsLongAsItDoes(t *testing.T) {
	w := newWorld(t)
	request := mig.Request{Name: "a1", State: mig.Accepted, Instances: []string{"alpha-a3-0"}}
	w.snap.Groups = []mig.Group{{Name: "alpha-a3-job-812", Region: "us-central1", Requests: []mig.Request{request}}}
	w.pass(0)
	assert.Zero(t, w.value("slurmflex_last_failure_timestamp_seconds", "quota"), "it waits, and nothing is wrong")

	requests := w.snap.Groups[0].Requests
	requests[0].Cause = mig.CauseQuota
	w.pass(time.Minute)
	last := w.value("slurmflex_last_failure_timestamp_seconds", "quota")
	assert.InDelta(t, noon.Add(time.Minute).Unix(), last, 1)
	assert.Zero(t, w.value("slurmflex_failures_total", "quota"), "the request has not failed")

	requests[0].State = mig.Succeeded
	w.pass(time.Minute)
	assert.InDelta(t, last, w.value("slurmflex_last_failure_timestamp_seconds", "quota"), 0)
}

func TestCallsAndCommandsAreCountedWithTheirTime(t *testing.T) {
	w := newWorld(t)
	w.Called("instances.aggregatedList", 200, 300*time.Millisecond)
	w.Called("instances.aggregatedList", 0, 30*time.Second)
	w.Ran("scontrol update", 40*time.Millisecond, nil)
	w.Ran("scontrol update", 10*time.Millisecond, errors.New("Invalid node name specified"))
	w.has(`slurmflex_api_calls_total{code="200",method="instances.aggregatedList"} 1
slurmflex_api_calls_total{code="none",method="instances.aggregatedList"} 1
slurmflex_slurm_commands_total{command="scontrol update",outcome="done"} 1
slurmflex_slurm_commands_total{command="scontrol update",outcome="failed"} 1
`, "slurmflex_api_calls_total", "slurmflex_slurm_commands_total")
	assert.InDelta(t, 30.3, w.value("slurmflex_api_call_duration_seconds", "instances.aggregatedList"), 1e-9)
	assert.InDelta(t, 0.05, w.value("slurmflex_slurm_command_duration_seconds", "scontrol update"), 1e-9)
}

func TestPassesAreCountedAndTheLastGoodOneIsKnown(t *testing.T) {
	w := newWorld(t)
	assert.Zero(t, w.value("slurmflex_last_good_pass_timestamp_seconds"), "none yet")
	w.pass(time.Minute)
	good := float64(w.now.Add(time.Second).Unix())
	assert.Equal(t, good, w.value("slurmflex_last_good_pass_timestamp_seconds"))
	assert.Equal(t, 2.0, w.value("slurmflex_pass_duration_seconds"))

	w.now = w.now.Add(time.Minute)
	w.Stood(errors.New("read nodes: slurmctld is on fire"))
	assert.Equal(t, good, w.value("slurmflex_last_good_pass_timestamp_seconds"))
	assert.Equal(t, 1.0, w.value("slurmflex_nodes", "g2", "powered down"), "what was seen last stays")

	w.Stood(fmt.Errorf("%w on ctl2", flex.ErrStandby))
	assert.Equal(t, float64(w.now.Unix()), w.value("slurmflex_last_good_pass_timestamp_seconds"))
	w.has(`slurmflex_passes_total{outcome="done"} 1
slurmflex_passes_total{outcome="failed"} 1
slurmflex_passes_total{outcome="standby"} 1
`, "slurmflex_passes_total", "slurmflex_nodes", "slurmflex_leases")
}

// asked is a request of 11:00 that brings node 0.
func (w *world) asked(state mig.RequestState) {
	w.snap.Groups = nil
	w.group(us, "alpha-a3-job-1", "a3", mig.Request{
		Name: "a1", State: state, Instances: []string{"alpha-a3-0"}, Created: noon.Add(-time.Hour),
	})
	w.node("alpha-a3-0", rising)
}

func TestAWaitIsOverWhenTheMachineIsMadeAndABootWhenItsNodeRegisters(t *testing.T) {
	w := newWorld(t)
	w.asked(mig.Accepted)
	w.pass(0)
	w.asked(mig.Succeeded)
	w.machine(us, "alpha-a3-job-1", "alpha-a3-0")
	w.pass(time.Minute)
	assert.Equal(t, 3600.0, w.value("slurmflex_queue_wait_seconds", "a3"))
	assert.Zero(t, w.value("slurmflex_boot_seconds", "a3"), "it boots")

	w.node("alpha-a3-0", "ALLOCATED+CLOUD")
	for range 3 {
		w.pass(time.Minute)
		assert.Equal(t, 3600.0, w.value("slurmflex_queue_wait_seconds", "a3"), "it is counted once")
		assert.Equal(t, 120.0, w.value("slurmflex_boot_seconds", "a3"), "likewise")
	}
}

// C14: an attempt that failed does not shorten the wait.
func TestAWaitBeginsWithTheFirstAttempt(t *testing.T) {
	made := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	attempt := func(state mig.RequestState, ago time.Duration) mig.Request {
		return mig.Request{State: state, Instances: []string{"n"}, Created: made.Add(-ago)}
	}
	for name, c := range map[string]struct {
		requests []mig.Request
		want     time.Duration
	}{
		"the first attempt":         {[]mig.Request{attempt(mig.Succeeded, time.Hour)}, time.Hour},
		"two that failed before it": {[]mig.Request{attempt(mig.Failed, 3*time.Hour), attempt(mig.Failed, 2*time.Hour), attempt(mig.Succeeded, time.Hour)}, 3 * time.Hour},
		"one that was for another":  {[]mig.Request{attempt(mig.Cancelled, 3*time.Hour), attempt(mig.Succeeded, time.Hour)}, time.Hour},
		"one that it had before":    {[]mig.Request{attempt(mig.Succeeded, 9*time.Hour), attempt(mig.Failed, 2*time.Hour), attempt(mig.Succeeded, time.Hour)}, 2 * time.Hour},
	} {
		assert.Equal(t, made.Add(-c.want), askedAt(mig.Instance{Name: "n", Created: made}, c.requests), name)
	}
}

func TestWhatWasThereBeforeTheFirstLookIsNotCounted(t *testing.T) {
	for name, first := range map[string]func(*world){
		"of a process":  func(*world) {},
		"after standby": func(w *world) { w.pass(time.Minute); w.Stood(fmt.Errorf("%w on ctl2", flex.ErrStandby)) },
		"at a region": func(w *world) {
			groups, machines := w.snap.Groups, w.snap.Instances
			w.snap.Unseen, w.snap.Groups, w.snap.Instances = map[string]error{us: errors.New("503")}, nil, nil
			w.pass(time.Minute)
			w.snap.Unseen, w.snap.Groups, w.snap.Instances = nil, groups, machines
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.asked(mig.Succeeded)
			w.machine(us, "alpha-a3-job-1", "alpha-a3-0")
			w.node("alpha-a3-0", "ALLOCATED+CLOUD")
			w.group(us, "alpha-a3-job-2", "a3", mig.Request{Name: "a1", State: mig.Failed, Cause: mig.CauseQuota})
			first(w)
			w.pass(time.Hour)
			assert.Zero(t, w.value("slurmflex_queue_wait_seconds", "a3"))
			assert.Zero(t, w.value("slurmflex_boot_seconds", "a3"))
			assert.Zero(t, w.value("slurmflex_failures_total", "quota"))
			assert.Zero(t, w.value("slurmflex_machine_seconds_total", "a3", "used"))
			assert.InDelta(t, w.now.Unix(), w.value("slurmflex_last_failure_timestamp_seconds", "quota"), 0, "but it stands")
		})
	}
}

func TestWhatCouldNotBeReadForAWhileIsNotCountedAgain(t *testing.T) {
	w := newWorld(t)
	w.pass(0)
	w.asked(mig.Succeeded)
	w.machine(us, "alpha-a3-job-1", "alpha-a3-0")
	w.group(us, "alpha-a3-job-2", "a3", mig.Request{Name: "a1", State: mig.Failed, Cause: mig.CauseQuota})
	groups, machines := w.snap.Groups, w.snap.Instances
	w.pass(time.Minute)
	w.snap.Unseen, w.snap.Groups, w.snap.Instances = map[string]error{us: errors.New("503")}, nil, nil
	w.pass(time.Minute)
	w.snap.Unseen, w.snap.Groups, w.snap.Instances = nil, groups, machines
	w.pass(time.Minute)
	assert.Equal(t, 3600.0, w.value("slurmflex_queue_wait_seconds", "a3"))
	assert.Equal(t, 1.0, w.value("slurmflex_failures_total", "quota"))
	assert.Equal(t, 180.0, w.value("slurmflex_machine_seconds_total", "a3", "idle"), "it was there all the time")
}

func TestTheTimeOfMachinesIsUsedWhileAJobIsOnTheNode(t *testing.T) {
	w := newWorld(t)
	w.asked(mig.Succeeded)
	w.pass(0)
	w.machine(us, "alpha-a3-job-1", "alpha-a3-0")
	for _, state := range []string{rising, "ALLOCATED+CLOUD", "MIXED+CLOUD+DRAIN", "IDLE+CLOUD", "IDLE+CLOUD+POWERING_DOWN"} {
		w.node("alpha-a3-0", state)
		w.pass(time.Minute)
	}
	assert.Equal(t, 120.0, w.value("slurmflex_machine_seconds_total", "a3", "used"))
	assert.Equal(t, 180.0, w.value("slurmflex_machine_seconds_total", "a3", "idle"))

	w.snap.Instances[0].Status = "TERMINATED"
	w.pass(time.Hour)
	assert.Equal(t, 180.0, w.value("slurmflex_machine_seconds_total", "a3", "idle"), "a stopped one is not paid for")
}

// A kept machine is idle for its next job, and once keep_idle has passed for nobody.
func TestKeptAndReusedMachinesAreToldApart(t *testing.T) {
	w := newWorld(t)
	w.cfg.FlexSetOf("alpha-a3-2").Flex.KeepIdle = 2 * time.Minute
	w.group(us, "alpha-a3-job-1", "a3").Stamp.Job = 1
	w.machine(us, "alpha-a3-job-1", "alpha-a3-2")
	jobOn := func(id uint32) {
		w.node("alpha-a3-2", "ALLOCATED+CLOUD")
		w.snap.Jobs = []slurm.Job{{ID: id, State: slurm.JobRunning, Nodes: []string{"alpha-a3-2"}}}
		w.pass(time.Minute)
		w.snap.Nodes[2].LastBusyTime = w.now
	}
	seconds := func() (by []float64) {
		for _, use := range []string{"used", "reused", "kept", "idle"} {
			by = append(by, w.value("slurmflex_machine_seconds_total", "a3", use))
		}
		return by
	}
	w.pass(0)
	jobOn(1)
	jobOn(2)
	jobOn(2)
	assert.Equal(t, []float64{60, 120, 0, 0}, seconds())
	assert.Equal(t, 1.0, w.value("slurmflex_machine_reuses_total", "a3"))
	w.node("alpha-a3-2", "IDLE+CLOUD")
	for range 4 {
		w.pass(time.Minute)
	}
	assert.Equal(t, []float64{60, 120, 60, 180}, seconds(), "an interval counts as what is seen at its end")
	jobOn(3)
	jobOn(1)
	assert.Equal(t, []float64{120, 180, 60, 180}, seconds())
	assert.Equal(t, 2.0, w.value("slurmflex_machine_reuses_total", "a3"), "job 1 has its own machine again")
}

func TestAMachineOfASharedGroupIsReusedByJobsOutsideItsArray(t *testing.T) {
	w := newWorld(t)
	w.group(us, "alpha-a3-arr-5", "a3").Stamp.Array = 5
	w.machine(us, "alpha-a3-arr-5", "alpha-a3-2")
	w.node("alpha-a3-2", "ALLOCATED+CLOUD")
	jobOn := func(id, array uint32, task string) {
		w.snap.Jobs = []slurm.Job{{ID: id, ArrayID: array, ArrayTask: task, State: slurm.JobRunning, Nodes: []string{"alpha-a3-2"}}}
		w.pass(time.Minute)
	}
	w.pass(0)
	jobOn(5, 5, "0")
	jobOn(6, 5, "1")
	assert.Equal(t, 0.0, w.value("slurmflex_machine_reuses_total", "a3"))
	jobOn(7, 7, "1")
	assert.Equal(t, 1.0, w.value("slurmflex_machine_reuses_total", "a3"))
}

func TestAMachineIsCountedFromWhenItWasMade(t *testing.T) {
	w := newWorld(t)
	w.asked(mig.Succeeded)
	w.pass(0)
	w.machine(us, "alpha-a3-job-1", "alpha-a3-0").Created = noon.Add(50 * time.Second)
	w.pass(time.Minute)
	assert.Equal(t, 10.0, w.value("slurmflex_machine_seconds_total", "a3", "idle"))
}

func TestARequestThatFailsIsCountedOnce(t *testing.T) {
	w := newWorld(t)
	w.asked(mig.Accepted)
	w.pass(0)
	w.snap.Groups = nil
	w.group(us, "alpha-a3-job-1", "a3", mig.Request{Name: "a1", State: mig.Failed, Cause: mig.CauseConfig})
	for range 2 {
		w.pass(time.Minute)
		assert.Equal(t, 1.0, w.value("slurmflex_failures_total", "configuration"))
		assert.InDelta(t, w.now.Unix(), w.value("slurmflex_last_failure_timestamp_seconds", "configuration"), 0)
	}
	at := float64(w.now.Unix())
	w.snap.Groups[0].Requests = append(w.snap.Groups[0].Requests, mig.Request{Name: "a2", State: mig.Accepted})
	w.pass(time.Minute)
	assert.Equal(t, at, w.value("slurmflex_last_failure_timestamp_seconds", "configuration"), "it is being tried again")
}

// C5: a machine that is gone under a job is counted, once, when two looks in a row
// find it so.
func TestMachinesThatAreGoneUnderAJobAreCounted(t *testing.T) {
	w := newWorld(t)
	lost := plan.Plan{Losses: []scene.Loss{{NodeSet: "a3", Nodes: []string{"alpha-a3-0", "alpha-a3-1"}, Jobs: []uint32{7}, Cause: scene.Gone}}}
	count := func() float64 { return w.value("slurmflex_machines_lost_total", "gone", "a3") }
	for _, p := range []plan.Plan{lost, {}, lost} {
		w.Saw(scene.Of(w.cfg, w.snap), p)
		assert.Zero(t, count(), "a list may be wrong once")
	}
	w.Saw(scene.Of(w.cfg, w.snap), lost)
	w.Saw(scene.Of(w.cfg, w.snap), lost)
	assert.Equal(t, 2.0, count())
	lost.Losses[0].Certain, lost.Losses[0].Nodes = true, []string{"alpha-a3-2"}
	w.Saw(scene.Of(w.cfg, w.snap), lost)
	w.Saw(scene.Of(w.cfg, w.snap), lost)
	assert.Equal(t, 3.0, count(), "what two passes have found needs no other look")
}

func TestQuotasAreThoseThatWereReadLast(t *testing.T) {
	w := newWorld(t)
	w.Quotas(us, []mig.Quota{{Metric: "INSTANCE_GROUPS", Limit: 150, Usage: 7}})
	w.Quotas(europe, []mig.Quota{{Metric: "INSTANCE_GROUPS", Limit: 100, Usage: 1}})
	w.Quotas(europe, nil)
	assert.InDelta(t, 7, testutil.ToFloat64(w.quotaUsed), 0, "the only one")
	assert.InDelta(t, 150, testutil.ToFloat64(w.quotaLimit), 0)
	w.Stood(flex.ErrStandby)
	assert.Zero(t, testutil.CollectAndCount(w.quotaUsed)+testutil.CollectAndCount(w.quotaLimit), "this host knows no longer")
}

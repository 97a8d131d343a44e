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
	"go.uber.org/zap"

	"slurmflex/flex/history"
	"slurmflex/flex/leader"
	"slurmflex/flex/plan"
	"slurmflex/flex/plan/action"
	"slurmflex/flex/plan/scene"
	"slurmflex/mig"
	"slurmflex/slurm"
	"slurmflex/test/scenetest"
)

var noon = scenetest.Noon

// world holds metrics with a settable clock, the history that they count from, and the input of the next pass.
type world struct {
	*Metrics
	recorder *history.Recorder
	*scenetest.World
	*testing.T
	registry *prometheus.Registry
	now      time.Time
	plan     plan.Plan
}

// newWorld returns a world at noon with all nodes powered down.
func newWorld(t *testing.T) *world {
	t.Helper()
	cfg := scenetest.Cluster("",
		scenetest.FlexSet("a3", "us-central1-a", "node_count_static: 1, node_count_dynamic_max: 3", ""),
		scenetest.FlexSet("g2", "europe-west4-b", "node_count_dynamic_max: 1", ""),
		"cpu: {node_count_dynamic_max: 1}")
	w := &world{T: t, World: scenetest.New(cfg), registry: prometheus.NewPedanticRegistry(), now: noon}
	w.Metrics = New(w.registry, cfg, "v1", func() time.Time { return w.now })
	cfg.Options.StateDir = t.TempDir()
	w.restart()
	w.Nodes("alpha-a3-[0-3],alpha-g2-0,alpha-cpu-0", scenetest.PoweredDown)
	return w
}

// restart makes another process of the same metrics record the history.
func (w *world) restart() {
	w.recorder = &history.Recorder{Dir: w.Config.Options.StateDir, Cluster: "alpha", Log: zap.NewNop(), Notify: w.Count}
}

// saw makes the metrics see a plan.
func (w *world) saw(p plan.Plan) { w.Metrics.saw(w.Scene(), p) }

// pass makes a pass of two seconds, some minutes after the last one.
func (w *world) pass(minutes int) {
	w.now = w.now.Add(time.Duration(minutes) * time.Minute)
	w.Snap.Begun, w.Snap.Now = w.now.Add(-time.Second), w.now
	w.saw(w.plan)
	w.recorder.Watcher().Saw(w.Scene(), w.plan)
	w.recorder.Wait(time.Minute)
	w.now = w.now.Add(time.Second)
	w.stood(nil)
	w.now = w.now.Add(-time.Second)
}

// has compares the metrics with these names with the lines of an exposition.
func (w *world) has(lines string, names ...string) {
	w.Helper()
	families, err := w.registry.Gather()
	require.NoError(w, err)
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
	require.NoError(w, testutil.GatherAndCompare(w.registry, strings.NewReader(help.String()), names...))
}

// value returns the value of a counter or gauge.
func (w *world) value(name string, labels ...string) float64 {
	w.Helper()
	families, err := w.registry.Gather()
	require.NoError(w, err)
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
	require.Fail(w, "no such metric", "%s %v", name, labels)
	return 0
}

// counts compares the value of a counter or gauge.
func (w *world) counts(want float64, name string, labels ...string) {
	w.Helper()
	assert.InDelta(w, want, w.value(name, labels...), 1e-9, "%s %v", name, labels)
}

// group adds a group of nodeset a3 with these requests.
func (w *world) group(name string, requests ...mig.Request) *mig.Group {
	return w.Group(name, mig.Stamp{NodeSet: "a3"}, requests...)
}

func TestActionsAreCountedByKindAndOutcome(t *testing.T) {
	w := newWorld(t)
	w.did(action.CreateGroup{}, noon, time.Second, nil)
	w.did(action.CreateGroup{}, noon, time.Second, &mig.Error{Trouble: mig.Trouble{Cause: mig.CauseQuota, Message: "none left"}})
	w.did(action.SetNodes{}, noon, time.Second, errors.New("Unable to contact slurm controller"))
	w.did(action.SignalJob{}, noon, time.Second, nil)
	for outcome, want := range map[string]float64{"done": 1, "failed": 1} {
		w.counts(want, "slurmflex_actions_total", "create_group", outcome)
	}
	w.counts(1, "slurmflex_actions_total", "signal_job", "done")
	w.counts(0, "slurmflex_actions_total", "return_nodes", "done") // the error was not returned
	for cause, want := range map[string]float64{"quota": 1, "slurm": 1, "permission": 0, "unknown": 0} {
		w.counts(want, "slurmflex_failures_total", cause)
	}
	w.counts(float64(noon.Unix()), "slurmflex_last_failure_timestamp_seconds", "quota")
	w.counts(0, "slurmflex_last_failure_timestamp_seconds", "permission")
}

func TestWaitForQuotaIsAFailureWhileItLasts(t *testing.T) {
	w := newWorld(t)
	request := mig.Request{Name: "a1", State: mig.Accepted, Instances: []string{"alpha-a3-0"}}
	w.Snap.Groups = []mig.Group{{Name: "alpha-a3-job-812", Region: "us-central1", Requests: []mig.Request{request}}}
	w.pass(0)
	w.counts(0, "slurmflex_last_failure_timestamp_seconds", "quota") // the request waits normally

	requests := w.Snap.Groups[0].Requests
	requests[0].Cause = mig.CauseQuota
	w.pass(1)
	last := w.value("slurmflex_last_failure_timestamp_seconds", "quota")
	assert.InDelta(t, noon.Add(time.Minute).Unix(), last, 1)
	w.counts(0, "slurmflex_failures_total", "quota") // the request has not failed

	requests[0].State = mig.Succeeded
	w.pass(1)
	w.counts(last, "slurmflex_last_failure_timestamp_seconds", "quota")
}

func TestCallsAndCommandsAreCountedAndTimed(t *testing.T) {
	w := newWorld(t)
	w.Called("instances.list", 200, 300*time.Millisecond)
	w.Called("instances.list", 0, 30*time.Second)
	w.Ran("scontrol update", 40*time.Millisecond, nil)
	w.Ran("scontrol update", 10*time.Millisecond, errors.New("Invalid node name specified"))
	w.has(`slurmflex_api_calls_total{code="200",method="instances.list"} 1
slurmflex_api_calls_total{code="none",method="instances.list"} 1
slurmflex_slurm_commands_total{command="scontrol update",outcome="done"} 1
slurmflex_slurm_commands_total{command="scontrol update",outcome="failed"} 1
`, "slurmflex_api_calls_total", "slurmflex_slurm_commands_total")
	w.counts(30.3, "slurmflex_api_call_duration_seconds", "instances.list")
	w.counts(0.05, "slurmflex_slurm_command_duration_seconds", "scontrol update")
}

func TestPassesAreCountedWithTheLastSuccess(t *testing.T) {
	w := newWorld(t)
	w.counts(0, "slurmflex_last_good_pass_timestamp_seconds") // none yet
	w.pass(1)
	good := float64(w.now.Add(time.Second).Unix())
	w.counts(good, "slurmflex_last_good_pass_timestamp_seconds")
	w.counts(2, "slurmflex_pass_duration_seconds")

	w.now = w.now.Add(time.Minute)
	w.stood(errors.New("read nodes: slurmctld is on fire"))
	w.counts(good, "slurmflex_last_good_pass_timestamp_seconds")
	w.counts(1, "slurmflex_nodes", "g2", "powered down") // the last observation is kept

	w.stood(fmt.Errorf("%w on ctl2", leader.ErrStandby))
	w.counts(float64(w.now.Unix()), "slurmflex_last_good_pass_timestamp_seconds")
	w.has(`slurmflex_passes_total{outcome="done"} 1
slurmflex_passes_total{outcome="failed"} 1
slurmflex_passes_total{outcome="standby"} 1
`, "slurmflex_passes_total", "slurmflex_nodes", "slurmflex_leases")
}

// asked adds a request of 11:00 that creates the machine of node 0.
func (w *world) asked(state mig.RequestState) {
	w.group("alpha-a3-job-1", mig.Request{
		Name: "a1", State: state, Instances: []string{"alpha-a3-0"}, Created: noon.Add(-time.Hour),
	})
	w.Nodes("alpha-a3-0", scenetest.PoweringUp)
}

// C14: a failed attempt does not shorten the wait.
func TestWaitEndsAtCreationAndBootAtRegistration(t *testing.T) {
	w := newWorld(t)
	w.asked(mig.Accepted)
	w.pass(0)
	failed := &w.Snap.Groups[0].Requests[0]
	again := *failed
	again.Name, again.State, again.Created = "a2", mig.Succeeded, noon
	failed.State, failed.Cause = mig.Failed, mig.CauseCapacity
	w.Snap.Groups[0].Requests = append(w.Snap.Groups[0].Requests, again)
	w.Machine("alpha-a3-0", "alpha-a3-job-1")
	w.pass(1)
	w.counts(3600, "slurmflex_queue_wait_seconds", "a3")
	w.counts(0, "slurmflex_boot_seconds", "a3") // it boots

	w.Nodes("alpha-a3-0", scenetest.Busy)
	for range 3 {
		w.pass(1)
		w.restart()
		w.counts(3600, "slurmflex_queue_wait_seconds", "a3") // it is counted once
		w.counts(120, "slurmflex_boot_seconds", "a3")        // it is counted once
	}
}

func TestEarlierObjectsAreNotCounted(t *testing.T) {
	w := newWorld(t)
	w.asked(mig.Succeeded)
	w.Machine("alpha-a3-0", "alpha-a3-job-1")
	w.Nodes("alpha-a3-0", scenetest.Busy)
	w.group("alpha-a3-job-2", mig.Request{Name: "a1", State: mig.Failed, Trouble: mig.Trouble{Cause: mig.CauseQuota}})
	w.pass(60)
	none := func() {
		w.counts(0, "slurmflex_queue_wait_seconds", "a3")
		w.counts(0, "slurmflex_boot_seconds", "a3")
		w.counts(0, "slurmflex_failures_total", "quota")
		w.counts(0, "slurmflex_machine_seconds_total", "a3", "used")
	}
	none()
	w.counts(float64(w.now.Unix()), "slurmflex_last_failure_timestamp_seconds", "quota") // the request still exists
	w.stood(leader.ErrStandby)
	w.recorder.Watcher().Stood(leader.ErrStandby)
	w.pass(60)
	none()
}

func TestMachineTimeIsUsedWhileTheNodeHasAJob(t *testing.T) {
	w := newWorld(t)
	w.asked(mig.Succeeded)
	w.pass(0)
	w.Machine("alpha-a3-0", "alpha-a3-job-1").Created = noon.Add(50 * time.Second)
	for _, state := range []string{scenetest.PoweringUp, scenetest.Busy, "MIXED+CLOUD+DRAIN", scenetest.Idle, "IDLE+CLOUD+POWERING_DOWN"} {
		w.Nodes("alpha-a3-0", state)
		w.pass(1)
	}
	w.counts(120, "slurmflex_machine_seconds_total", "a3", "used")
	w.counts(130, "slurmflex_machine_seconds_total", "a3", "idle")

	w.Snap.Instances[0].Status = "TERMINATED"
	w.pass(60)
	w.counts(130, "slurmflex_machine_seconds_total", "a3", "idle") // a stopped machine is not billed
}

// A kept machine is kept for its next job, and idle once keep_idle has passed.
func TestKeptAndReusedMachinesAreDistinguished(t *testing.T) {
	w := newWorld(t)
	w.Config.FlexSetOf("alpha-a3-2").Flex.KeepIdle = 2 * time.Minute
	w.group("alpha-a3-job-1").Stamp.Job = 1
	w.Machine("alpha-a3-2", "alpha-a3-job-1")
	jobOn := func(id uint32) {
		w.Nodes("alpha-a3-2", scenetest.Busy)
		w.Snap.Jobs = []slurm.Job{{ID: id, State: slurm.JobRunning, Nodes: []string{"alpha-a3-2"}}}
		w.pass(1)
		w.Snap.Nodes[2].LastBusyTime = w.now
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
	w.counts(1, "slurmflex_machine_reuses_total", "a3")
	w.Nodes("alpha-a3-2", scenetest.Idle)
	for range 4 {
		w.pass(1)
	}
	assert.Equal(t, []float64{60, 120, 60, 180}, seconds(), "an interval counts as what is seen at its end")
}

func TestFailedRequestIsCountedOnce(t *testing.T) {
	w := newWorld(t)
	w.asked(mig.Accepted)
	w.pass(0)
	w.group("alpha-a3-job-1", mig.Request{Name: "a1", State: mig.Failed, Trouble: mig.Trouble{Cause: mig.CauseConfig}})
	for range 2 {
		w.pass(1)
		w.restart()
		w.counts(1, "slurmflex_failures_total", "configuration")
		w.counts(float64(w.now.Unix()), "slurmflex_last_failure_timestamp_seconds", "configuration")
	}
	at := float64(w.now.Unix())
	w.Snap.Groups[0].Requests = append(w.Snap.Groups[0].Requests, mig.Request{Name: "a2", State: mig.Accepted})
	w.pass(1)
	w.counts(at, "slurmflex_last_failure_timestamp_seconds", "configuration") // it is being tried again
}

// C5
func TestMachinesLostUnderAJobAreCounted(t *testing.T) {
	w := newWorld(t)
	lost := plan.Plan{Losses: []scene.Loss{{NodeSet: "a3", Nodes: []string{"alpha-a3-0", "alpha-a3-1"}, Jobs: []uint32{7}, Cause: scene.Gone}}}
	for range 3 {
		w.saw(lost)
		w.counts(0, "slurmflex_machines_lost_total", "gone", "a3")
	}
	lost.Losses[0].Certain = true
	w.saw(lost)
	w.saw(lost)
	w.counts(2, "slurmflex_machines_lost_total", "gone", "a3")
}

func TestLossIsNotCountedAgainAfterAnOutage(t *testing.T) {
	w := newWorld(t)
	lost := plan.Plan{Losses: []scene.Loss{{NodeSet: "a3", Region: scenetest.US, Nodes: []string{"alpha-a3-0"}, Cause: scene.Gone, Certain: true}}}
	w.saw(lost)
	w.Snap.Unseen = map[string]error{scenetest.US: errors.New("503")}
	w.saw(plan.Plan{})
	w.Snap.Unseen = nil
	w.saw(lost)
	w.counts(1, "slurmflex_machines_lost_total", "gone", "a3")
}

package metrics

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"slurmflex/config"
	"slurmflex/flex/plan/demand"
	"slurmflex/flex/plan/memo"
	"slurmflex/flex/plan/scene"
	"slurmflex/mig"
	"slurmflex/slurm"
	"slurmflex/test/scenetest"
)

// busy returns a world with something of everything: a waiting request, machines that run and boot,
// an orphaned machine, and a blocked nodeset.
func busy(t *testing.T) *world {
	t.Helper()
	w := newWorld(t)
	w.Nodes("alpha-a3-0", scenetest.PoweringUp)
	w.Nodes("alpha-a3-1", scenetest.Busy)
	w.Nodes("alpha-a3-2", scenetest.PoweringUp)
	w.Nodes("alpha-a3-3", "IDLE+CLOUD+DANCING")
	w.group("alpha-a3-job-1",
		mig.Request{Name: "a1", State: mig.Failed, Trouble: mig.Trouble{Cause: mig.CauseCapacity}},
		mig.Request{Name: "a2", State: mig.Accepted, Instances: []string{"alpha-a3-0"}},
		mig.Request{Name: "a3", State: "PONDERING", Instances: []string{"alpha-a3-0"}})
	w.group("alpha-a3-job-2", mig.Request{Name: "a1", State: mig.Succeeded, Instances: []string{"alpha-a3-1", "alpha-a3-2"}})
	w.Machine("alpha-a3-1", "alpha-a3-job-2").Terminates = noon.Add(3 * time.Hour)
	second := w.Machine("alpha-a3-2", "alpha-a3-job-2")
	second.Terminates, second.Maintained = noon.Add(2*time.Hour), noon.Add(4*time.Hour)
	w.Machine("alpha-a3-99", "alpha-a3-job-2")
	w.Machine("alpha-a3-98", "alpha-a3-job-2").Status = "STOPPING"
	w.Machine("alpha-a3-97", "a-strangers")
	w.Snap.Templates = map[string]scene.Template{
		"projects/demo/regions/us-central1/instanceTemplates/a3": {Template: mig.Template{MachineType: "a3-highgpu-8g"}},
	}
	w.Snap.Reservations = []slurm.Reservation{{Name: "slurmflex-alpha-1795000000"}, {Name: "maintenance"}}
	w.Machine("alpha-a3-96", "a-strangers").Unread = "creationTimestamp"
	w.Snap.Policies = []mig.Policy{{Unread: "a"}, {Unread: "b"}, {}}
	w.Snap.Jobs = []slurm.Job{
		{ID: 1, State: slurm.JobRunning, Nodes: []string{"alpha-a3-1"}, Start: noon.Add(-time.Hour), Limit: slurm.Limit{Kind: slurm.LimitSet, Duration: 5 * time.Hour}},
		{ID: 2, State: slurm.JobPending, Reason: "JobHeldAdmin"},
		{ID: 3, State: slurm.JobPending, Reason: "JobHeldAdmin"},
	}
	w.Snap.Told = map[uint32]string{1: "flex-start: attempt 1 failed", 2: "flex-start: 403 forbidden", 3: "ask Ada"}
	w.Snap.Unread = slurm.Unread{{Kind: slurm.JobRow}, {Kind: slurm.JobRow}, {Kind: slurm.NodeRow}}
	w.plan.Waits = []demand.Wait{
		{NodeSet: "a3", Region: scenetest.US, Nodes: []string{"alpha-a3-0"}, Since: noon.Add(-time.Hour)},
		{NodeSet: "a3", Region: scenetest.US, Nodes: []string{"alpha-a3-3"}},
	}
	w.Node("alpha-a3-0").Extra = memo.Block{At: noon}.String()
	w.Node("alpha-g2-0").Extra = memo.ReasonPrefix + "5 boots failed, the last of an instance made " + noon.Add(-time.Minute).Format(time.RFC3339)
	return w
}

var sightNames = []string{
	"slurmflex_nodes", "slurmflex_active_requests", "slurmflex_waiting_nodes", "slurmflex_longest_wait_seconds", "slurmflex_leases",
	"slurmflex_next_lease_end_timestamp_seconds", "slurmflex_next_maintenance_timestamp_seconds", "slurmflex_nodeset_blocked", "slurmflex_region_readable", "slurmflex_orphan_instances",
	"slurmflex_reservations", "slurmflex_unread_rows",
	"slurmflex_gpus", "slurmflex_longest_idle_seconds", "slurmflex_next_cutoff_timestamp_seconds", "slurmflex_held_jobs",
}

// busyGauges are the gauges of busy.
const busyGauges = `slurmflex_nodes{nodeset="a3",state="in use"} 1
slurmflex_nodes{nodeset="a3",state="not understood"} 1
slurmflex_nodes{nodeset="a3",state="powering up"} 2
slurmflex_nodes{nodeset="g2",state="not understood"} 0
slurmflex_nodes{nodeset="g2",state="powered down"} 1
slurmflex_active_requests{nodeset="a3",state="accepted"} 1
slurmflex_active_requests{nodeset="a3",state="creating"} 0
slurmflex_active_requests{nodeset="a3",state="other"} 1
slurmflex_active_requests{nodeset="g2",state="accepted"} 0
slurmflex_active_requests{nodeset="g2",state="creating"} 0
slurmflex_waiting_nodes{nodeset="a3"} 2
slurmflex_waiting_nodes{nodeset="g2"} 0
slurmflex_longest_wait_seconds{nodeset="a3"} 3600
slurmflex_longest_wait_seconds{nodeset="g2"} 0
slurmflex_leases{nodeset="a3"} 2
slurmflex_leases{nodeset="g2"} 0
slurmflex_gpus{nodeset="a3",state="in use"} 8
slurmflex_gpus{nodeset="a3",state="powering up"} 8
slurmflex_gpus{nodeset="a3",state="waiting"} 16
slurmflex_longest_idle_seconds{nodeset="a3"} 0
slurmflex_longest_idle_seconds{nodeset="g2"} 0
slurmflex_next_cutoff_timestamp_seconds{nodeset="a3"} 1.7952732e+09
slurmflex_held_jobs 1
slurmflex_next_lease_end_timestamp_seconds{nodeset="a3"} 1.7952696e+09
slurmflex_next_maintenance_timestamp_seconds{nodeset="a3"} 1.7952768e+09
slurmflex_nodeset_blocked{by="admin",nodeset="a3"} 1
slurmflex_nodeset_blocked{by="boots",nodeset="a3"} 0
slurmflex_nodeset_blocked{by="admin",nodeset="g2"} 0
slurmflex_nodeset_blocked{by="boots",nodeset="g2"} 1
slurmflex_region_readable{region="europe-west4"} 1
slurmflex_region_readable{region="us-central1"} 1
slurmflex_orphan_instances{region="europe-west4"} 0
slurmflex_orphan_instances{region="us-central1"} 1
slurmflex_reservations 1
slurmflex_unread_rows{kind="group"} 0
slurmflex_unread_rows{kind="instance"} 1
slurmflex_unread_rows{kind="job"} 2
slurmflex_unread_rows{kind="node"} 1
slurmflex_unread_rows{kind="partition"} 0
slurmflex_unread_rows{kind="policy"} 2
slurmflex_unread_rows{kind="reservation"} 0
`

func TestGaugesReflectTheLastPass(t *testing.T) {
	w := busy(t)
	w.pass(0)
	w.has(busyGauges, sightNames...)
}

func TestGaugesShowLimits(t *testing.T) {
	w := busy(t)
	w.Config.Options.Limits = []config.Limit{{Name: "bio"}}
	w.plan.Limits = []demand.LimitUse{{
		Limit:    config.Limit{Name: "bio", GPUHours: 500, Cost: 100},
		Spending: scene.Spending{Used: scene.Amount{GPU: 400 * 3600, Cost: 25}}, Currency: "USD",
	}}
	w.pass(0)
	w.has(`slurmflex_limit_used_ratio{limit="bio",unit="GPU hours"} 0.8
slurmflex_limit_used_ratio{limit="bio",unit="USD"} 0.25
slurmflex_limits_readable 1
`, "slurmflex_limit_used_ratio", "slurmflex_limits_readable")
	w.plan.Limits, w.Snap.Spent.Err = nil, errors.New("disk")
	w.pass(0)
	w.has("slurmflex_limits_readable 0\n", "slurmflex_limit_used_ratio", "slurmflex_limits_readable")
}

func TestUnreadRegionHasNoMetrics(t *testing.T) {
	w := busy(t)
	w.Snap.Unseen = map[string]error{scenetest.US: errors.New("503 backendError")}
	w.Snap.Groups, w.Snap.Instances = nil, nil
	w.pass(0)
	ofSlurm := []string{"slurmflex_nodes", "slurmflex_nodeset_blocked"}
	want := ""
	for line := range strings.Lines(strings.Replace(busyGauges, `rows{kind="instance"} 1`, `rows{kind="instance"} 0`, 1)) {
		name, _, _ := strings.Cut(line, "{")
		if strings.HasPrefix(line, `slurmflex_region_readable{region="us-central1"}`) {
			want += strings.Replace(line, " 1", " 0", 1)
		} else if !strings.Contains(line, scenetest.US) && !strings.Contains(line, `"a3"`) || slices.Contains(ofSlurm, name) {
			want += line
		}
	}
	w.has(want, sightNames...)
}

// C4: a region that was read before keeps its gauges, and the time of that read.
func TestRegionReadBeforeKeepsItsGauges(t *testing.T) {
	w := busy(t)
	w.pass(0)
	leases := w.value("slurmflex_leases", "a3")
	require.NotZero(t, leases)
	at := w.Snap.Now
	w.Snap.LastKnown = map[string]scene.LastKnown{scenetest.US: {At: at, Groups: w.Snap.Groups, Instances: w.Snap.Instances}}
	w.Snap.Unseen = map[string]error{scenetest.US: errors.New("503 backendError")}
	w.Snap.Groups, w.Snap.Instances = nil, nil
	w.pass(60)
	w.counts(leases, "slurmflex_leases", "a3")
	w.counts(0, "slurmflex_region_readable", scenetest.US)
	w.counts(seconds(at), "slurmflex_region_last_read_timestamp_seconds", scenetest.US)
}

func TestMachineIsIdleSinceItsLastJobOrCreation(t *testing.T) {
	late := noon.Add(90 * time.Minute)
	for _, c := range []struct {
		state  string
		busy   time.Time
		idle   time.Duration
		change func(set *config.Flex, in *mig.Instance)
	}{
		{scenetest.Idle, time.Time{}, 2 * time.Hour, nil},
		{scenetest.Idle, late, 30 * time.Minute, nil},
		{"IDLE+CLOUD+DRAIN", noon.Add(-time.Hour), 2 * time.Hour, nil}, // of an earlier machine
		{"DOWN+CLOUD+NOT_RESPONDING", late, 30 * time.Minute, nil},
		{"MIXED+CLOUD", late, 0, nil},
		{scenetest.Idle, late, 10 * time.Minute, func(set *config.Flex, _ *mig.Instance) { set.KeepIdle = 20 * time.Minute }},
		{scenetest.Idle, late, 0, func(set *config.Flex, _ *mig.Instance) { set.KeepIdle = time.Hour }},
		{scenetest.Idle, late, 0, func(_ *config.Flex, in *mig.Instance) { in.Created, in.Unread = time.Time{}, "creationTimestamp" }},
	} {
		w := newWorld(t)
		w.Nodes("alpha-a3-1", c.state)
		w.Snap.Nodes[1].LastBusyTime = c.busy
		w.group("alpha-a3-job-1")
		w.Nodes("alpha-a3-0", scenetest.Idle) // static
		w.Machine("alpha-a3-0", "alpha-a3-job-1")
		in := w.Machine("alpha-a3-1", "alpha-a3-job-1")
		if c.change != nil {
			c.change(w.Config.FlexSetOf("alpha-a3-1").Flex, in)
		}
		w.pass(2 * 60)
		assert.Equal(t, c.idle.Seconds(), w.value("slurmflex_longest_idle_seconds", "a3"), "%s, busy until %s", c.state, c.busy)
	}
}

func TestLeaseCutsOffALongerJob(t *testing.T) {
	limit := func(d time.Duration) slurm.Limit { return slurm.Limit{Kind: slurm.LimitSet, Duration: d} }
	for name, c := range map[string]struct {
		state slurm.JobState
		limit slurm.Limit
		cuts  bool
	}{
		"the limit is longer":           {slurm.JobRunning, limit(4 * time.Hour), true},
		"no limit":                      {slurm.JobRunning, slurm.Limit{Kind: slurm.Unlimited}, true},
		"the limit ends with the lease": {slurm.JobRunning, limit(3 * time.Hour), false},
		"unknown limit":                 {slurm.JobRunning, slurm.Limit{}, false},
		"the nodes boot":                {slurm.JobConfiguring, limit(9 * time.Hour), false},
	} {
		w := newWorld(t)
		w.Snap.Jobs = []slurm.Job{{ID: 1, State: c.state, Limit: c.limit, Nodes: []string{"alpha-a3-0", "alpha-a3-1"}, Start: noon}}
		w.group("alpha-a3-job-1")
		w.Machine("alpha-a3-0", "alpha-a3-job-1").Terminates = noon.Add(10 * time.Hour)
		w.Machine("alpha-a3-1", "alpha-a3-job-1").Terminates = noon.Add(3 * time.Hour)
		w.pass(1)
		found, err := testutil.GatherAndCount(w.registry, "slurmflex_next_cutoff_timestamp_seconds")
		require.NoError(t, err)
		assert.Equal(t, c.cuts, found == 1, name)
		if c.cuts {
			w.counts(seconds(noon.Add(3*time.Hour)), "slurmflex_next_cutoff_timestamp_seconds", "a3")
		}
	}
}

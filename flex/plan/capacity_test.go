package plan

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"slurmflex/config"
	"slurmflex/flex/plan/action"
	"slurmflex/flex/plan/scene"
	"slurmflex/mig"
	"slurmflex/slurm"
)

// mixed returns a configuration with a flex-start nodeset, a nodeset in a reservation, and a Spot
// nodeset.
func mixed() *config.Config {
	return parsed(`
slurm_cluster_name: alpha
project: demo
partitions:
  train: {enable_job_exclusive: true, partition_nodeset: [a3]}
  eu: {enable_job_exclusive: true, partition_nodeset: [one]}
  spot: {enable_job_exclusive: true, partition_nodeset: [fix]}
nodeset:
  a3: {node_count_dynamic_max: 4, instance_template: projects/demo/global/instanceTemplates/a3,
    subnetwork: &us projects/demo/regions/us-central1/subnetworks/default, zone_policy_allow: &zones [us-central1-a, us-central1-b],
    dws_flex: {use_job_duration: true}}
  one: {node_count_static: 1, node_count_dynamic_max: 3, instance_template: projects/demo/global/instanceTemplates/one, subnetwork: *us, zone_policy_allow: *zones,
    capacity: reservation, reservation_name: h100s}
  fix: {node_count_dynamic_max: 4, instance_template: projects/demo/global/instanceTemplates/fix, subnetwork: *us, zone_policy_allow: *zones,
    capacity: spot, keep_idle: 600}
`)
}

// spotWaits returns a snapshot: Slurm allocated a node of the Spot nodeset to job 7 that long ago.
func spotWaits(ago time.Duration, more ...part) scene.Snapshot {
	return seen(nodes("alpha-fix-0", poweringUp), job(7, "spot", "15:00", configured, "alpha-fix-0"), started(7, ago), and(more...))
}

// spotMachines adds machines of job 7.
func spotMachines(list, status string) part {
	return made(list, "", status, func(in *mig.Instance) {
		in.Model, in.Stamp = mig.Spot, mig.Stamp{Version: mig.StampVersion, Cluster: "alpha", NodeSet: "fix", Job: 7}
	})
}

func TestRestOfABulkInsertMayShowLater(t *testing.T) {
	waits := and(nodes("alpha-fix-[0-1]", poweringUp), job(7, "spot", "15:00", configured, "alpha-fix-[0-1]"), started(7, 5*time.Minute))
	inserts := func(age time.Duration) (specs []mig.BulkSpec) {
		part := spotMachines("alpha-fix-0", "PROVISIONING")
		for _, a := range planOf(mixed(), seen(waits, part, aged(age))).Actions {
			if b, is := a.(action.BulkInsert); is {
				specs = append(specs, b.Spec)
			}
		}
		return specs
	}
	assert.Empty(t, inserts(time.Minute))
	late := inserts(2 * time.Minute)
	require.Len(t, late, 1)
	assert.Equal(t, []string{"alpha-fix-1"}, late[0].Instances)
	assert.Equal(t, []string{"us-central1-a"}, late[0].Zones, "where its job's other machine is")

	waits = and(nodes("alpha-fix-0", running), nodes("alpha-fix-1", poweringUp), job(7, "spot", "15:00", configured, "alpha-fix-[0-1]"), started(7, 5*time.Minute))
	assert.Empty(t, inserts(time.Minute), "although the other has registered")
	assert.Equal(t, []string{"us-central1-a"}, inserts(2 * time.Minute)[0].Zones)
}

func TestInsertUsesTheCapacityOfItsNodeset(t *testing.T) {
	insert := func(given scene.Snapshot) mig.BulkSpec {
		p := planOf(mixed(), given)
		require.Len(t, p.Actions, 1)
		return p.Actions[0].(action.BulkInsert).Spec
	}
	spot := insert(spotWaits(time.Second))
	assert.Equal(t, mig.Spot, spot.Model)
	assert.Zero(t, spot.Duration)
	assert.Equal(t, []string{"us-central1-a", "us-central1-b"}, spot.Zones)
	static := insert(seen(nodes("alpha-one-0", risingIdle)))
	assert.Equal(t, mig.Standard, static.Model)
	assert.Equal(t, "h100s", static.Reservation)
	assert.Equal(t, "alpha-one-0", static.Stamp.Node)
}

func TestPreemptedSpotMachineIsLostAtOnce(t *testing.T) {
	works := and(nodes("alpha-fix-0", running), job(7, "spot", "1:00:00", slurm.JobRunning, "alpha-fix-0"), missing("alpha-fix-0"))
	preempted := func(s *setting) { s.Preempted = map[string]bool{"alpha-fix-0": true} }
	for name, test := range map[string]struct {
		given scene.Snapshot
		lost  string
	}{
		"while it stops":                           {seen(works, spotMachines("alpha-fix-0", "STOPPING")), "preempted"},
		"after a pass saw it stop":                 {seen(works, preempted), "preempted"},
		"when maintenance of its host has started": {seen(works, reserved(fmt.Sprintf("slurmflex-alpha-%d", noon.Add(-time.Minute).Unix()), "alpha-fix-0", noon.Add(-time.Minute))), "maintenance of its host began"},
		"nor by the first pass that sees it stop":  {seen(nodes("alpha-fix-0", running), job(7, "spot", "1:00:00", slurm.JobRunning, "alpha-fix-0"), spotMachines("alpha-fix-0", "STOPPING")), ""},
	} {
		t.Run(name, func(t *testing.T) {
			p := planOf(mixed(), test.given)
			assert.True(t, p.Soon || !strings.Contains(name, "first pass"), "the next looks soon")
			if test.lost == "" {
				assert.NotContains(t, withoutComments(p), "set nodes alpha-fix-0 down")
				return
			}
			require.Contains(t, withoutComments(p), "set nodes alpha-fix-0 down")
			assert.Contains(t, strings.Join(p.Problems.Texts(), "\n"), test.lost)
		})
	}
}

func TestMachineWithoutALeaseNeedsNoReservation(t *testing.T) {
	idle := and(freed("alpha-fix-0", "IDLE+CLOUD"), spotMachines("alpha-fix-0", "RUNNING"))
	in := situations(t, mixed())
	in("and is kept for keep_idle", seen(idle))
	in("and no longer", seen(idle, func(s *setting) { s.Nodes[0].LastBusyTime = noon.Add(-11 * time.Minute) }), "set nodes alpha-fix-0 power_down")
	in("and loses its reservation when the maintenance is withdrawn", seen(idle, reserved(fmt.Sprintf("slurmflex-alpha-%d", noon.Add(time.Hour).Unix()), "alpha-fix-0", noon.Add(time.Hour))), fmt.Sprintf("delete reservation slurmflex-alpha-%d", noon.Add(time.Hour).Unix()))
}

// Machines without a lease end at a known time only for maintenance.
func TestOwnerReadsThatNoEndIsKnown(t *testing.T) {
	given := func(text string, more ...part) string {
		works := and(nodes("alpha-fix-[0-1]", running), job(7, "spot", "5:00:00", slurm.JobRunning, "alpha-fix-[0-1]"), started(7, time.Hour))
		return tells(planOf(mixed(), seen(works, spotMachines("alpha-fix-0", "RUNNING"), told(7, text), and(more...))))[7]
	}
	const endless = "flex-start: its nodes are there, without a known end"
	other := spotMachines("alpha-fix-1", "RUNNING")
	assert.Equal(t, endsAt(time.Hour), given("", other, maintained("alpha-fix-1", time.Hour)))
	assert.Equal(t, endless, given(endsAt(time.Hour), other), "it is withdrawn")
	assert.Equal(t, endless, given("flex-start: waiting since 2026-11-21T11:00:00Z for 1 × a3", other))
	assert.Empty(t, given(endless, other), "once")
	assert.Equal(t, endsAt(2*time.Hour), given(endless, other, maintained("alpha-fix-0", 2*time.Hour)), "it is announced again")
	assert.Empty(t, given(endsAt(time.Hour)), "a list may lack the machine that ends")
	assert.Empty(t, given(endsAt(time.Hour), other, unseen("us-central1")))
	leased := seen(runsOn(7, "alpha-a3-0"), timeLimit("5:00:00"), started(7, time.Hour),
		leasedTo(7, "alpha-a3-0", time.Hour, time.Hour), told(7, endsAt(time.Hour)))
	leased.Instances[0].Terminates, leased.Groups[0].Requests = time.Time{}, nil
	assert.Empty(t, tells(planOf(mixed(), leased)), "a lease is never withdrawn")
}

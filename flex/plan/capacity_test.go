package plan

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"slurmflex/config"
	"slurmflex/flex/plan/memo"
	"slurmflex/flex/plan/scene"
	"slurmflex/mig"
	"slurmflex/slurm"
)

// mixed is chained with Spot machines in place of those of the last nodeset, and a
// reservation's in place of the second's.
func mixed(t testing.TB) *config.Config {
	return parsed(t, `
slurm_cluster_name: alpha
project: demo
partitions:
  train: {enable_job_exclusive: true, partition_nodeset: [a3]}
  eu: {enable_job_exclusive: true, partition_nodeset: [one]}
  spot: {enable_job_exclusive: true, partition_nodeset: [fix]}
nodeset:
  a3: {node_count_dynamic_max: 4, instance_template: projects/demo/global/instanceTemplates/a3,
    subnetwork: &us projects/demo/regions/us-central1/subnetworks/default, zone_policy_allow: &zones [us-central1-a, us-central1-b],
    dws_flex: {use_job_duration: true, fallback_after: 3600}}
  one: {node_count_static: 1, node_count_dynamic_max: 3, instance_template: projects/demo/global/instanceTemplates/one, subnetwork: *us, zone_policy_allow: *zones,
    capacity: reservation, reservation_name: h100s}
  fix: {node_count_dynamic_max: 4, instance_template: projects/demo/global/instanceTemplates/fix, subnetwork: *us, zone_policy_allow: *zones,
    capacity: spot, keep_idle: 600}
`)
}

// spotWaits is job 7, which was given a node of the Spot nodeset so long ago.
func spotWaits(ago time.Duration, chain memo.Chain, more ...part) scene.Snapshot {
	return seen(nodes("alpha-fix-0", poweringUp), job(7, "spot", "15:00", configured, "alpha-fix-0"), started(7, ago), remembers(chain), and(more...))
}

// spotMachines are those of job 7.
func spotMachines(list, status string) part {
	return made(list, "", status, func(in *mig.Instance) {
		in.Model, in.Stamp = mig.Spot, mig.Stamp{Version: mig.StampVersion, Cluster: "alpha", NodeSet: "fix", Job: 7}
	})
}

func TestCapacityThatComesAtOnceIsInsertedAsItsNodesetSays(t *testing.T) {
	insert := func(given scene.Snapshot) mig.BulkSpec {
		p := Compute(scene.Of(mixed(t), given))
		require.Len(t, p.Actions, 1)
		return p.Actions[0].(BulkInsert).Spec
	}
	spot := insert(spotWaits(time.Second, memo.Chain{}))
	assert.Equal(t, mig.Spot, spot.Model)
	assert.Zero(t, spot.Duration)
	assert.Equal(t, []string{"us-central1-a", "us-central1-b"}, spot.Zones)
	static := insert(seen(nodes("alpha-one-0", risingIdle)))
	assert.Equal(t, mig.Standard, static.Model)
	assert.Equal(t, "h100s", static.Reservation)
	assert.Equal(t, "alpha-one-0", static.Stamp.Node)
}

func TestAJobStaysInItsQueueWhileTheOthersOfItsListRest(t *testing.T) {
	list := memo.Chain{List: []string{"train", "spot"}}
	in := situations(t, mixed(t))
	resting := and(nodes("alpha-fix-[0-3]", "IDLE+CLOUD+POWERED_DOWN"), rests("alpha-fix-[0-3]", time.Minute), func(s *setting) { s.Stockouts = nil })
	in("rather than to wait in neither", waitsIn("train", time.Hour, list, resting),
		`set nodes alpha-a3-0 comment "slurmflex: waits in alpha-a3-job-7/a1 since 2026-11-21T11:00:00Z, armed 2026-11-21T11:00:00Z"`,
		`set AdminComment of job 7: "flex-start: waiting 1h00m for 1 × a3-machine for 00:15:00; it stays in partition train: partition spot rests, as there was no capacity"`)
	in("and comes back from one that begins to rest", queuedFor("spot", memo.Chain{List: list.List, Moved: memo.Move{From: "train", To: []string{"spot"}, At: noon.Add(-time.Minute)}}, resting), "remember the partitions train,spot of job 7")
}

func TestAJobLeavesCapacityThatIsRefused(t *testing.T) {
	in := situations(t, mixed(t))
	none := refused("alpha-fix-job-7", mig.CauseCapacity, time.Second, 1)
	in("at once for the others of its list", spotWaits(10*time.Second, whole, none),
		"return alpha-fix-0 to Slurm and requeue job 7: no capacity for 1 × fix-machine in partition spot; the job moves to train,eu")
	in("also for a fault that an admin must correct, and says so", spotWaits(10*time.Second, whole, refused("alpha-fix-job-7", mig.CauseConfig, time.Second, 1)),
		"return alpha-fix-0 to Slurm and requeue job 7: no machines for 1 × fix-machine in partition spot: INVALID_ARGUMENT: no; the job moves to train,eu")
	in("but not for a refusal of an earlier attempt", spotWaits(time.Second, whole, refused("alpha-fix-job-7", mig.CauseCapacity, 2*time.Minute, 1)),
		"insert 1 node (alpha-fix-0) in us-central1 for no fixed time (SPOT)")
	in("and tries again if it has no list", spotWaits(2*time.Minute, memo.Chain{}, refused("alpha-fix-job-7", mig.CauseCapacity, time.Minute, 1)),
		"insert 1 node (alpha-fix-0) in us-central1 for no fixed time (SPOT)")
	arrived := memo.Chain{List: whole.List, Moved: memo.Move{From: "eu", To: whole.List, At: noon.Add(-10 * time.Second)}}
	since := func(moved time.Duration) scene.Snapshot {
		return spotWaits(10*time.Second, memo.Chain{List: whole.List, Moved: memo.Move{From: "eu", To: []string{"spot"}, At: noon.Add(-moved)}}, none)
	}
	in("but goes through its list no more often than refusals are tried again", since(59*time.Second),
		`set AdminComment of job 7: "flex-start: attempt 1 failed: no capacity; retrying at 2026-11-21T12:00:59Z"`)
	in("which is after a minute", since(time.Minute),
		"return alpha-fix-0 to Slurm and requeue job 7: no capacity for 1 × fix-machine in partition spot; the job moves to train,eu,spot")
	in("and stays where it has just moved to, though Slurm's clock is minutes behind", spotWaits(4*time.Minute, arrived),
		"insert 1 node (alpha-fix-0) in us-central1 for no fixed time (SPOT)")
	in("also if it was refused there before", spotWaits(4*time.Minute, arrived, refused("alpha-fix-job-7", mig.CauseCapacity, 2*time.Minute, 1)),
		"insert 1 node (alpha-fix-0) in us-central1 for no fixed time (SPOT)")
	unanswered := refused("alpha-fix-job-7", mig.CauseUnavailable, time.Second, 0)
	in("or when nobody has answered for a minute", spotWaits(2*time.Minute, whole, unanswered, askedFor("alpha-fix-job-7", 2*time.Minute)),
		"return alpha-fix-0 to Slurm and requeue job 7: no machines for 1 × fix-machine in partition spot in 2m; the job moves to train,eu")
	in("nor while a machine is being made", spotWaits(10*time.Second, whole, none, func(s *setting) { s.Inserted = map[string]bool{"alpha-fix-0": true} }))
}

func TestASpotMachineThatIsPreemptedIsLostAtOnce(t *testing.T) {
	works := and(nodes("alpha-fix-0", running), job(7, "spot", "1:00:00", slurm.JobRunning, "alpha-fix-0"), missing("alpha-fix-0"))
	preempted := func(s *setting) { s.Preempted = map[string]bool{"alpha-fix-0": true} }
	for name, test := range map[string]struct {
		given scene.Snapshot
		lost  string
	}{
		"while it stops": {seen(works, spotMachines("alpha-fix-0", "STOPPING")), "pre-empted"},
		"when it has gone after a pass saw it stop":  {seen(works, preempted), "pre-empted"},
		"when maintenance of its host has begun":     {seen(works, reserved(fmt.Sprintf("slurmflex-alpha-%d", noon.Add(-time.Minute).Unix()), "alpha-fix-0", noon.Add(-time.Minute))), "maintenance of its host began"},
		"when Slurm misses it, too":                  {seen(nodes("alpha-fix-0", running+"+NOT_RESPONDING"), job(7, "spot", "1:00:00", slurm.JobRunning, "alpha-fix-0"), missing("alpha-fix-0")), "gone"},
		"but not when a list alone does not show it": {seen(works), ""},
		"nor while it runs":                          {seen(works, spotMachines("alpha-fix-0", "RUNNING")), ""},
		"nor by the first pass that sees it stop":    {seen(nodes("alpha-fix-0", running), job(7, "spot", "1:00:00", slurm.JobRunning, "alpha-fix-0"), spotMachines("alpha-fix-0", "STOPPING")), ""},
	} {
		t.Run(name, func(t *testing.T) {
			p := Compute(scene.Of(mixed(t), test.given))
			if strings.Contains(name, "first pass") {
				assert.Contains(t, strings.Join(p.Expect, "\n"), "the machine of node alpha-fix-0 to run, or to be broken", "the next looks soon")
			}
			if test.lost == "" {
				assert.NotContains(t, withoutComments(p), "set nodes alpha-fix-0 down")
				return
			}
			require.Contains(t, withoutComments(p), "set nodes alpha-fix-0 down")
			assert.Contains(t, strings.Join(p.Problems.Texts(), "\n"), test.lost)
		})
	}
}

func TestAMachineWithoutALeaseNeedsNoReservation(t *testing.T) {
	idle := and(freed("alpha-fix-0", "IDLE+CLOUD"), spotMachines("alpha-fix-0", "RUNNING"))
	in := situations(t, mixed(t))
	in("and is kept for keep_idle", seen(idle))
	in("and no longer", seen(idle, func(s *setting) { s.Nodes[0].LastBusyTime = noon.Add(-11 * time.Minute) }), "set nodes alpha-fix-0 power_down")
	in("and loses one whose maintenance was withdrawn", seen(idle, reserved(fmt.Sprintf("slurmflex-alpha-%d", noon.Add(time.Hour).Unix()), "alpha-fix-0", noon.Add(time.Hour))), fmt.Sprintf("delete reservation slurmflex-alpha-%d", noon.Add(time.Hour).Unix()))
}

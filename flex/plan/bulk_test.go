package plan

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"slurmflex/flex/plan/action"
	"slurmflex/flex/plan/scene"
	"slurmflex/mig"
	"slurmflex/slurm"
)

func TestBulkInsertServesTheLegacyPath(t *testing.T) {
	const both = "alpha-bulk-[0-1]"
	wanted := func(more ...part) scene.Snapshot {
		return seen(append(more, nodes(both, poweringUp), job(7, "shared", "15:00", configured, both))...)
	}
	in := situations(t, alphaConfig(t))
	in("inserts all of a job's nodes in one call, and makes no group", wanted(),
		"insert 2 nodes (alpha-bulk-[0-1]) in us-central1 for 7-00:00:00")
	in("inserts nothing twice", wanted(inserted(both, 7)))
	in("inserts only what is missing", wanted(inserted("alpha-bulk-0", 7)),
		"insert 1 node (alpha-bulk-1) in us-central1 for 7-00:00:00")
	in("inserts nothing in a region that could not be read", wanted(unseen("us-central1")))
	in("waits after a refusal", wanted(refused("alpha-bulk-job-7", mig.CauseCapacity, 59*time.Second, 1)),
		`set AdminComment of job 7: "flex-start: attempt 1 failed: no capacity; `+`retrying at 2026-11-21T12:00:01Z"`)
	in("then tries again", wanted(refused("alpha-bulk-job-7", mig.CauseCapacity, time.Minute, 1)),
		"insert 2 nodes (alpha-bulk-[0-1]) in us-central1 for 7-00:00:00")
	in("returns the nodes after max_attempts",
		wanted(refused("alpha-bulk-job-7", mig.CauseCapacity, time.Second, 5)),
		"return alpha-bulk-[0-1] to Slurm and requeue job 7: 5 attempts failed, the last: no capacity")
	in("deletes the instances of nodes that Slurm powers down by their names",
		seen(nodes("alpha-bulk-0", poweringDown), nodes("alpha-bulk-1", running),
			job(8, "shared", "15:00", slurm.JobRunning, "alpha-bulk-1"), inserted(both, 7)),
		"delete instances alpha-bulk-0")
	in("deletes no instance that is not ours", seen(nodes(both, poweringDown), vms(both, "", "RUNNING")))
	in("keeps an instance for a node that an admin powered up", seen(freed("alpha-bulk-0", risingIdle),
		inserted("alpha-bulk-0", 0)))
}

func TestBulkInsertNamesAllThatComputeNeeds(t *testing.T) {
	p := Compute(scene.Of(alphaConfig(t), seen(nodes("alpha-bulk-0", poweringUp), job(7, "shared", "15:00", configured, "alpha-bulk-0"))))
	require.Len(t, p.Actions, 1)
	spec := p.Actions[0].(action.BulkInsert).Spec
	assert.Equal(t, "bulk-machine", spec.Template.MachineType)
	assert.Equal(t, []string{"us-central1-a"}, spec.Zones)
	assert.Equal(t, mig.Stamp{Version: mig.StampVersion, Cluster: "alpha", NodeSet: "bulk", Job: 7}, spec.Stamp)
}

func TestEachInsertAttemptHasItsOwnOccasion(t *testing.T) {
	occasion := func(start time.Duration, more ...part) string {
		given := started(7, start)
		s := seen(nodes("alpha-bulk-0", poweringUp), job(7, "shared", "15:00", configured, "alpha-bulk-0"), given, and(more...))
		plan := Compute(scene.Of(with(t, ""), s))
		require.Len(t, plan.Actions, 1)
		return plan.Actions[0].(action.BulkInsert).Spec.Occasion
	}
	later := func(s *setting) { s.Now = noon.Add(9 * time.Second) }
	first := occasion(time.Minute)
	assert.NotEmpty(t, first)
	assert.Equal(t, first, occasion(time.Minute, later), "a pass later, of whichever process")
	assert.NotEqual(t, first, occasion(30*time.Second), "when the job has been given its nodes again")
	assert.NotEqual(t, first, occasion(time.Minute, refused("alpha-bulk-job-7", mig.CauseCapacity, time.Minute, 1)), "after a refusal")
	assert.Equal(t, occasion(time.Minute, refused("alpha-bulk-job-7", mig.CauseCapacity, time.Minute, 1)),
		occasion(time.Minute, told(7, "flex-start: attempt 1 failed (capacity): none; retrying at 2026-11-21T12:00:01Z")),
		"in a process that knows the refusal only from the AdminComment")
	assert.NotEqual(t, first, occasion(time.Minute, func(s *setting) {
		s.Refused["alpha-bulk-job-7"] = scene.Refusal{Ended: 1}
	}), "after an operation that failed without counting as an attempt")
	assert.NotEqual(t, first, occasion(time.Minute, func(s *setting) { s.Now = noon.Add(9 * time.Minute) }), "when the machines must have been lost")
	unknown := func(s *setting) { s.Jobs[0].Start = time.Time{} }
	assert.NotEqual(t, occasion(time.Minute, unknown), occasion(time.Minute, unknown, later), "nothing else distinguishes two attempts")
	lost := func(names ...string) part {
		return func(s *setting) {
			s.Unsure = map[string]mig.BulkSpec{"alpha-bulk-job-7": {Instances: names, Occasion: "lost"}}
		}
	}
	assert.Equal(t, "lost", occasion(time.Minute, lost("alpha-bulk-0")), "while that attempt's outcome is unknown")
	assert.Equal(t, first, occasion(time.Minute, lost("alpha-bulk-1")), "an attempt for other nodes")
}

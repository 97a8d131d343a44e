package plan

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"slurmflex/flex/plan/action"
	"slurmflex/flex/plan/scene"
	"slurmflex/mig"
)

func TestBulkInsertServesTheLegacyPath(t *testing.T) {
	const both = "alpha-bulk-[0-1]"
	wanted := func(more ...part) scene.Snapshot {
		return seen(append(more, awaits(7, both), shared)...)
	}
	in := situations(t, alphaConfig)
	in("inserts all of a job's nodes in one call, and makes no group", wanted(),
		"insert 2 nodes (alpha-bulk-[0-1]) in us-central1 for 7-00:00:00")
	in("deletes the instances of nodes that Slurm powers down by their names",
		seen(nodes("alpha-bulk-0", poweringDown), runsOn(8, "alpha-bulk-1"), shared, inserted(both, 7)),
		"delete instances alpha-bulk-0")
	in("keeps an instance for a node that an admin powered up", seen(freed("alpha-bulk-0", risingIdle),
		inserted("alpha-bulk-0", 0)))
}

func TestProcessesDeriveTheSameOccasionForAnInsert(t *testing.T) {
	spec := func(start time.Duration, more ...part) mig.BulkSpec {
		s := seen(awaits(7, "alpha-bulk-[0-1]"), shared, started(7, start), and(more...))
		plan := planOf(with(""), s)
		require.Len(t, plan.Actions, 1)
		return plan.Actions[0].(action.BulkInsert).Spec
	}
	occasion := func(start time.Duration, more ...part) string { return spec(start, more...).Occasion }
	after := func(d time.Duration) part { return func(s *setting) { s.Now = noon.Add(d) } }
	first := occasion(time.Minute)
	assert.NotEmpty(t, first)
	assert.Equal(t, first, occasion(time.Minute, after(2*time.Hour)), "later")
	assert.Equal(t, first, occasion(time.Minute, refused("alpha-bulk-job-7", mig.CauseCapacity, time.Minute, 1)), "after failures that others may not know")
	assert.NotEqual(t, first, occasion(30*time.Second), "the job has been given its nodes again")
	assert.NotEqual(t, first, occasion(time.Minute, inserted("alpha-bulk-0", 7), aged(2*time.Minute)), "other nodes are missing")

	assert.Empty(t, occasion(time.Minute, func(s *setting) { s.Jobs[0].Start = time.Time{} }), "nothing distinguishes two attempts")

	assert.Equal(t, 1, spec(time.Minute, refused("alpha-bulk-job-7", mig.CauseCapacity, time.Minute, 1)).Failed)
	assert.Equal(t, 3, spec(time.Minute, told(7, "flex-start: attempt 3 failed (capacity): none; retrying at 2026-11-21T12:00:01Z")).Failed)
}

// Another program may remove labels. Without them, only its name shows that the machine is a node's.
func TestMachineOfAPoweredDownNodeWithoutLabelsIsReported(t *testing.T) {
	const what = "instance alpha-bulk-0 in us-central1-a has the name of a node that is powered down, and stays, because it lacks slurmflex's labels: " +
		"delete it when it is not needed (gcloud compute instances delete alpha-bulk-0 --zone us-central1-a)"
	problems := func(state string, age time.Duration) []string {
		return alphaPlan(nodes("alpha-bulk-0", state), vms("alpha-bulk-0", "", "RUNNING"), aged(age)).Problems.Texts()
	}
	assert.Equal(t, []string{what}, problems(poweredDown, 10*time.Minute))
	assert.Empty(t, problems(poweredDown, 9*time.Minute), "it may show its labels later")
	assert.Empty(t, problems("IDLE+CLOUD", time.Hour), "a job may use it")
}

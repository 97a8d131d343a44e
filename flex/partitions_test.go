package flex

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"slurmflex/flex/plan"
	"slurmflex/flex/plan/memo"
	"slurmflex/slurm"
)

// roaming is job 8, which was submitted to two partitions and has waited in the first.
func roaming(w *world, comment string) {
	w.slurm.cfg.FlexSetOf("alpha-a3-0").Flex.FallbackAfter = time.Hour
	w.slurm.maxTime = slurm.Limit{Kind: slurm.Unlimited}
	w.waiting(8, "train", "alpha-a3-0")
	w.slurm.jobs[8].Start, w.slurm.jobs[8].Priority = time.Now(), 1
	w.slurm.comment[8] = comment
	w.begin()
}

func (w *world) chain() memo.Chain {
	_, c := memo.SplitChain(w.slurm.comment[8])
	return c
}

const twoPartitions = "flex-start: [partitions train,shared]"

func TestAJobMovesWhenFallbackAfterIsOver(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		roaming(w, twoPartitions)
		w.passes(1, 59*time.Minute)
		w.passes(1, 0)
		require.Equal(t, slurm.JobConfiguring, w.slurm.jobs[8].State)
		time.Sleep(time.Minute)
		w.passes(1, 0)
		j := w.slurm.jobs[8]
		require.Equal(t, slurm.JobPending, j.State)
		j.Partition = "train,shared" // as Slurm shows it again
		w.passes(2, time.Second)
		assert.Equal(t, "shared", j.Partition)
		assert.Equal(t, memo.Move{From: "train", To: []string{"shared"}, Waited: w.chain().Moved.Waited, At: w.chain().Moved.At}, w.chain().Moved)
		assert.Equal(t, []string{"train", "shared"}, w.chain().List)
		assert.Zero(t, w.chain().Leaving)

		w.begin() // another process knows it, too
		w.passes(1, time.Second)
		assert.Equal(t, "shared", w.slurm.jobs[8].Partition)
	})
}

func TestAJobWhosePartitionsCannotBeRememberedStays(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		roaming(w, twoPartitions)
		w.passes(1, 59*time.Minute)
		w.slurm.comment[8] = "an admin's"
		w.passes(3, time.Minute)
		assert.Equal(t, slurm.JobConfiguring, w.slurm.jobs[8].State)
		assert.Equal(t, "an admin's", w.slurm.comment[8])
		require.Error(t, w.returnNodes(t.Context(), plan.ReturnNodes{OfJob: plan.OfJob{Job: 8}, Nodes: []string{"alpha-a3-0"}, Leaving: &memo.Chain{}}))
		assert.Equal(t, slurm.JobConfiguring, w.slurm.jobs[8].State)

		j := w.slurm.jobs[8]
		j.State, j.Nodes, j.Partition = slurm.JobPending, nil, "train,shared"
		w.passes(3, time.Minute)
		assert.Equal(t, "an admin's", w.slurm.comment[8])
	})
}

func TestTheListOfAPendingJobIsRememberedAndAnUpdateThatComesTooLateIsNone(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		roaming(w, "")
		j := w.slurm.jobs[8]
		j.State, j.Nodes, j.Partition = slurm.JobPending, nil, "train,shared"
		w.passes(2, time.Second)
		assert.Equal(t, []string{"train", "shared"}, w.chain().List)

		j.State = slurm.JobRunning
		err := w.changePartitions(t.Context(), plan.ChangePartitions{OfJob: plan.OfJob{Job: 8}, To: []string{"shared"}, Chain: w.chain()})
		require.Error(t, err)
		assert.Equal(t, "train,shared", j.Partition)
		w.slurm.illegible = errors.New("no")
		require.Error(t, w.changePartitions(t.Context(), plan.ChangePartitions{OfJob: plan.OfJob{Job: 8}, To: []string{"shared"}}))
	})
}

func TestAMoveThatSlurmRefusesForNowIsTriedAgainSoonerThanOtherChanges(t *testing.T) {
	at := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	var tries retries
	move, change := plan.ChangePartitions{}, plan.SetNodes{Nodes: []string{"alpha-a3-0"}, State: "resume"}
	for range 5 {
		tries.note(move, errors.New("Resource temporarily unavailable"), at)
		tries.note(change, errors.New("Invalid node state specified"), at)
	}
	assert.False(t, tries.isDue(move, at.Add(7*time.Second)))
	assert.True(t, tries.isDue(move, at.Add(8*time.Second)))
	assert.False(t, tries.isDue(change, at.Add(8*time.Second)))
}

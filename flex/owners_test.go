package flex

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"slurmflex/slurm"
)

// The user guide lets owners change these limits while their jobs wait.
func TestChangedCommentChangesTheWaitLimit(t *testing.T) {
	eachInWorld(t, map[string]struct {
		before, after string
		ends          bool
	}{
		"longer":  {"slurmflex:wait=2h,cancel", "slurmflex:wait=1d,cancel", false},
		"removed": {"slurmflex:wait=2h,cancel", "", false},
		"added":   {"", "slurmflex:wait=2h,cancel", true},
	}, func(t *testing.T, w *world, test struct {
		before, after string
		ends          bool
	},
	) {
		w.soldOut()
		w.slurm.records = map[uint32]slurm.JobRecord{1: {Batch: true, Requeue: true, Comment: test.before}}
		w.slurm.submit(1, "train", "alpha-a3-0")
		w.slurm.jobs[1].Start = time.Now()
		w.passes(20, time.Minute)
		w.slurm.records = map[uint32]slurm.JobRecord{1: {Batch: true, Requeue: true, Comment: test.after}} // scontrol update jobid=1 comment=…
		w.passes(130, time.Minute)
		_, waits := w.slurm.queue()[1]
		assert.Equal(t, test.ends, !waits, "2.5 hours after the allocation: %v, %s", w.slurm.queue(), w.slurm.comment[1])
	})
}

func TestMovedDeadlineCounts(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.soldOut()
		w.slurm.records = map[uint32]slurm.JobRecord{1: {Deadline: time.Now().Add(2 * time.Hour)}}
		w.slurm.submit(1, "train", "alpha-a3-0")
		w.slurm.jobs[1].Start = time.Now()
		w.passes(20, time.Minute)
		w.slurm.records = map[uint32]slurm.JobRecord{1: {Deadline: time.Now().Add(24 * time.Hour)}} // scontrol update jobid=1 deadline=…
		w.passes(130, time.Minute)
		assert.Contains(t, w.slurm.queue(), uint32(1), "the salloc was cancelled: %s", w.slurm.comment[1])
	})
}

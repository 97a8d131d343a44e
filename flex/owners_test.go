package flex

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"slurmflex/slurm"
)

// limits is what limits the wait of job 1, first and then.
type limits struct {
	before, after slurm.JobRecord
	ends          bool
}

// The user guide lets owners change these limits while their jobs wait.
func TestChangedLimitOfAWaitCounts(t *testing.T) {
	wait := slurm.JobRecord{Batch: true, Requeue: true, Comment: "slurmflex:wait=2h,cancel"}
	longer, none := wait, wait
	longer.Comment, none.Comment = "slurmflex:wait=1d,cancel", ""
	eachInWorld(t, map[string]limits{
		"longer": {wait, longer, false},
		"added":  {none, wait, true},
	}, func(w *world, test limits) {
		w.soldOut()
		w.slurm.records = map[uint32]slurm.JobRecord{1: test.before}
		w.oneJob()
		w.passes(20, time.Minute)
		w.slurm.records[1] = test.after // scontrol update jobid=1 comment=… deadline=…
		w.passes(130, time.Minute)
		_, waits := w.slurm.queue()[1]
		assert.Equal(w, test.ends, !waits, "2.5 hours after the allocation: %v, %s", w.slurm.queue(), w.slurm.comment(1))
	})
}

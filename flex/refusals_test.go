package flex

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"slurmflex/flex/memory"
	"slurmflex/slurm"
)

// B15: each sync by cron is a new process, and Compute's lists do not show that a group was
// rejected.
func TestCronCountsRejectedGroups(t *testing.T) {
	inWorld(t, func(w *world) {
		w.refuses("regionInstanceGroupManagers.insert", "QUOTA_EXCEEDED", "Quota 'INSTANCE_GROUPS' exceeded.")
		w.oneJob()
		for run := 1; w.slurm.queue()[1] != slurm.JobPending; run++ {
			require.LessOrEqual(w, run, 5, "max_attempts is 5")
			w.memory = memory.Memory{}
			w.synced()
			time.Sleep(time.Minute)
			synctest.Wait()
		}
		assert.Contains(w, w.slurm.updated()[len(w.slurm.updated())-1], "5 attempts failed, the last: ")
	})
}

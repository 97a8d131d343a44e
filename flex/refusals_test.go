package flex

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"slurmflex/flex/plan/scene"
	"slurmflex/mig"
	"slurmflex/slurm"
)

// B15: each sync by cron is a new process, and Compute's lists do not show that a group was
// rejected.
func TestCronCountsRejectedGroups(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.refuses("regionInstanceGroupManagers.insert", "QUOTA_EXCEEDED", "Quota 'INSTANCE_GROUPS' exceeded.")
		w.slurm.submit(1, "train", "alpha-a3-0")
		for run := 1; w.slurm.queue()[1] != slurm.JobPending; run++ {
			require.LessOrEqual(t, run, 5, "max_attempts is 5")
			w.refusals, w.owners = refusals{}, owners{}
			_, err := w.Sync(t.Context(), w.lock)
			require.NoError(t, err)
			time.Sleep(time.Minute)
			synctest.Wait()
		}
		assert.Contains(t, w.slurm.updated()[len(w.slurm.updated())-1], "5 attempts failed, the last: ")
	})
}

// B17
func TestRateLimitErrorIsShownButNotCounted(t *testing.T) {
	at := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	rate := &mig.Error{Op: "create request", Object: "a1", Cause: mig.CauseRate, Err: errors.New("429: slow down")}
	var refused refusals
	refused.note("g", rate, at, 0)
	assert.Equal(t, scene.Refusal{Failing: scene.Failing{Cause: mig.CauseRate, Message: "429: slow down", Times: 1, Since: at, Last: at}}, refused.matter(at)["g"])
	refused.note("g", &mig.Error{Cause: mig.CauseQuota, Err: errors.New("none left")}, at, 0)
	refused.note("g", rate, at, 0)
	assert.Equal(t, mig.CauseQuota, refused.matter(at)["g"].Cause, "the relevant refusal is not forgotten")
	refused.note("g", nil, at, 0)
	assert.Empty(t, refused.matter(at))
}

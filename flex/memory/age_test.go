package memory

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"slurmflex/flex/plan/action"
	"slurmflex/mig"
)

// A host's clock may run ahead for a while. Times recorded meanwhile must not delay anything until
// the clock reaches them.
func TestTimesInTheFutureDelayNothing(t *testing.T) {
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	ahead := now.Add(24 * time.Hour)

	var tries Retries
	change := action.SetNodes{Nodes: []string{"alpha-a3-0"}, State: "resume"}
	tries.Note(change, errors.New("Invalid node state specified"), ahead)
	assert.False(t, tries.IsDue(change, ahead))
	assert.True(t, tries.IsDue(change, now))

	var refused Refusals
	refused.Note("alpha-a3-job-7", &mig.Error{Cause: mig.CauseQuota, Err: errors.New("403 quota")}, ahead, 0)
	assert.Len(t, refused.matter(ahead), 1)
	assert.Len(t, refused.matter(ahead.Add(-time.Minute)), 1, "a pass that had started when it was noted")
	assert.Empty(t, refused.matter(now))
}

package memory

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"slurmflex/flex/plan/scene"
	"slurmflex/mig"
)

// B17
func TestRateLimitErrorIsShownButNotCounted(t *testing.T) {
	at := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	rate := &mig.Error{Op: "create request", Object: "a1", Cause: mig.CauseRate, Err: errors.New("429: slow down")}
	var refused Refusals
	refused.Note("g", rate, at, 0)
	assert.Equal(t, scene.Refusal{Failing: scene.Failing{Cause: mig.CauseRate, Message: "429: slow down", Times: 1, Since: at, Last: at}}, refused.matter(at)["g"])
	refused.Note("g", &mig.Error{Cause: mig.CauseQuota, Err: errors.New("none left")}, at, 0)
	refused.Note("g", rate, at, 0)
	assert.Equal(t, mig.CauseQuota, refused.matter(at)["g"].Cause, "the relevant refusal is not forgotten")
	refused.Note("g", nil, at, 0)
	assert.Empty(t, refused.matter(at))
}

func TestRejectionIsForgottenAfterAnHour(t *testing.T) {
	at := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	var refused Refusals
	refused.Note("g", &mig.Error{Op: "create group", Object: "g", Cause: mig.CauseQuota, Err: errors.New("none left")}, at, 0)
	assert.Equal(t, map[string]scene.Refusal{
		"g": {
			Cause: mig.CauseQuota, Message: "none left", At: at, Times: 1,
			Failing: scene.Failing{Cause: mig.CauseQuota, Message: "none left", Times: 1, Since: at, Last: at},
		},
	}, refused.matter(at))

	assert.Len(t, refused.matter(at.Add(time.Hour)), 1)
	assert.Empty(t, refused.matter(at.Add(time.Hour+time.Second)))
}

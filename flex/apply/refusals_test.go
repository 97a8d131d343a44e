package apply

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"slurmflex/config"
	"slurmflex/flex/memory"
	"slurmflex/flex/plan/scene"
	"slurmflex/mig"
)

// refused returns hands for calls that Compute refuses.
func refused(now *time.Time) Hands {
	return Hands{Memory: &memory.Memory{}, Now: func() time.Time { return *now }}
}

// B17
func TestRateLimitErrorIsShownButNotCounted(t *testing.T) {
	at := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	rate := &mig.Error{Op: "create request", Object: "a1", Cause: mig.CauseRate, Err: errors.New("429: slow down")}
	h := refused(&at)
	h.noteOutcome("g", 0, rate)
	assert.Equal(t, scene.Refusal{Failing: scene.Failing{Cause: mig.CauseRate, Message: "429: slow down", Times: 1, Since: at, Last: at}}, h.Memory.Refusals.All()["g"])
	h.noteOutcome("g", 0, &mig.Error{Cause: mig.CauseQuota, Err: errors.New("none left")})
	h.noteOutcome("g", 0, rate)
	assert.Equal(t, mig.CauseQuota, h.Memory.Refusals.All()["g"].Cause, "the relevant refusal is not forgotten")
	h.noteOutcome("g", 0, nil)
	assert.Empty(t, h.Memory.Refusals.All())
}

func TestRejectionIsForgottenAfterAnHour(t *testing.T) {
	at := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	h := refused(&at)
	h.noteOutcome("g", 0, &mig.Error{Op: "create group", Object: "g", Cause: mig.CauseQuota, Err: errors.New("none left")})
	assert.Equal(t, map[string]scene.Refusal{
		"g": {
			Cause: mig.CauseQuota, Message: "none left", At: at, Times: 1,
			Failing: scene.Failing{Cause: mig.CauseQuota, Message: "none left", Times: 1, Since: at, Last: at},
		},
	}, h.Memory.Refusals.All())

	assert.Len(t, h.Memory.Begin(at.Add(time.Hour-time.Second), &config.Config{}, nil).Refused, 1)
	assert.Empty(t, h.Memory.Begin(at.Add(time.Hour), &config.Config{}, nil).Refused)
}

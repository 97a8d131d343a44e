package apply

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"slurmflex/config"
	"slurmflex/flex/memory"
	"slurmflex/flex/plan/scene"
	"slurmflex/mig"
)

// B17
func TestRateLimitErrorIsShownButNotCounted(t *testing.T) {
	at := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	h := Hands{Memory: &memory.Memory{}, Now: func() time.Time { return at }}
	rate := &mig.Error{Op: "create request", Object: "a1", Trouble: mig.Trouble{Cause: mig.CauseRate, Message: "429: slow down"}}
	h.noteOutcome("g", 0, rate)
	assert.Equal(t, scene.Refusal{Failing: scene.Failing{Trouble: mig.Trouble{Cause: mig.CauseRate, Message: "429: slow down"}, Times: 1, Since: at, Last: at}}, h.Memory.Refusals.All()["g"])
	h.noteOutcome("g", 0, &mig.Error{Trouble: mig.Trouble{Cause: mig.CauseQuota, Message: "none left"}})
	h.noteOutcome("g", 0, rate)
	refused := h.Memory.Refusals.All()["g"]
	assert.Equal(t, mig.CauseQuota, refused.Cause, "the relevant refusal is not forgotten")
	assert.Equal(t, 1, refused.Times)
	assert.Len(t, h.Memory.Begin(at.Add(time.Hour-time.Second), &config.Config{}, nil).Refused, 1)
	h.noteOutcome("g", 0, nil)
	assert.Empty(t, h.Memory.Refusals.All())
	h.noteOutcome("g", 0, &mig.Error{Trouble: mig.Trouble{Cause: mig.CauseQuota, Message: "none left"}})
	assert.Empty(t, h.Memory.Begin(at.Add(time.Hour), &config.Config{}, nil).Refused)
}

package flex

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"slurmflex/flex/plan"
	"slurmflex/mig"
)

func TestRefusalsOfANodesetCountOnceForEachRest(t *testing.T) {
	at := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	none := &mig.Error{Cause: mig.CauseCapacity, Err: errors.New("none")}
	var s stockouts
	knows := func(times int, when string, after time.Duration) {
		t.Helper()
		assert.Equal(t, map[string]plan.Stockout{"spot": {At: at.Add(after), Times: times}}, s.matter(at.Add(after)), when)
	}
	s.note("spot", none, at)
	s.note("spot", none, at.Add(4*time.Minute))
	knows(1, "a burst", 0)
	s.note("spot", &mig.Error{Cause: mig.CauseQuota, Err: errors.New("none left")}, at.Add(6*time.Minute))
	knows(1, "another cause", 0)
	s.note("spot", none, at.Add(5*time.Minute))
	knows(2, "after the rest", 5*time.Minute)
	s.note("spot", nil, at.Add(6*time.Minute))
	knows(0, "machines have come", 6*time.Minute)
	s.note("spot", none, at.Add(7*time.Minute))
	knows(1, "it begins again", 7*time.Minute)
	assert.Empty(t, s.matter(at.Add(2*time.Hour)), "long ago")
}

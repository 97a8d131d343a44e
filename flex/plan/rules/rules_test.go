package rules

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"slurmflex/mig"
)

func TestRetriesWaitFromAMinuteToHalfAnHour(t *testing.T) {
	for failures, want := range map[int]time.Duration{
		1: time.Minute, 2: 2 * time.Minute, 3: 4 * time.Minute, 5: 16 * time.Minute, 6: 30 * time.Minute, 1000: 30 * time.Minute,
	} {
		assert.Equal(t, want, retryAfter(failures), "%d failures", failures)
	}
}

func TestQueuePositionRarelyChanges(t *testing.T) {
	for n, want := range map[int]string{
		1: "1", 9: "9", 10: "10 or later", 19: "10 or later", 20: "20 or later", 99: "90 or later",
		100: "100 or later", 11_499: "10000 or later",
	} {
		assert.Equal(t, want, roughPlace(n))
	}
}

func TestProblemQuotesOnlyAnAbridgedMessage(t *testing.T) {
	for message, want := range map[string]string{
		"403 forbidden: Permission denied.": "g: 403 forbidden: Permission denied",
		strings.Repeat("long ", 30) + ".":   "; Google's message: long ",
	} {
		trouble := mig.Trouble{Cause: mig.CausePermission, Message: message}
		var v Ruling
		v.Problems.Add("request-refused", "g", "g: %s", trouble.Brief())
		text := v.quoting(trouble).Problems[0].Text
		assert.Contains(t, text, want)
		assert.LessOrEqual(t, strings.Count(text, "403"), 1, text)
	}
}

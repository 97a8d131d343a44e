package memory

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestRecallRemembersUntilItsRuleForgets(t *testing.T) {
	var r recall[string, int]
	after := noon.Add
	r.Note("replaced", 1, noon)
	r.Note("again", 2, noon)
	r.Note("forgotten", 3, noon)
	r.Replace("replaced", 4)
	r.Note("again", 5, after(time.Minute))
	r.Forget("forgotten", "unknown")
	r.Expire(after(59*time.Minute), time.Hour)
	assert.Equal(t, map[string]int{"replaced": 4, "again": 5}, r.All())
	value, _, known := r.Get("replaced")
	assert.True(t, known)
	assert.Equal(t, 4, value)

	r.Note("by a running action", 6, after(61*time.Minute))
	r.Note("by a fast clock", 7, after(24*time.Hour))
	r.Expire(after(time.Hour), time.Hour)
	assert.Equal(t, map[string]int{"again": 5, "by a running action": 6}, r.All(), "a replaced value keeps its age")
	r.keep(func(key string, was *noted[int]) bool { was.value *= 10; return key == "again" })
	assert.Equal(t, map[string]int{"again": 50}, r.All())
}

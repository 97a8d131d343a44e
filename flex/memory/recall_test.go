package memory

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestRecallRemembersUntilItsRuleForgets(t *testing.T) {
	noon := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	for name, test := range map[string]struct {
		does func(*recall[string, int])
		want map[string]int
	}{
		"a replaced value":          {func(r *recall[string, int]) { r.Note("a", 1, noon); r.Replace("a", 2) }, map[string]int{"a": 2}},
		"nothing that is forgotten": {func(r *recall[string, int]) { r.Note("a", 1, noon); r.Note("b", 2, noon); r.Forget("a", "c") }, map[string]int{"b": 2}},
		"what is younger":           {func(r *recall[string, int]) { r.Note("a", 1, noon); r.Expire(noon.Add(59*time.Minute), time.Hour) }, map[string]int{"a": 1}},
		"nothing that is as old":    {func(r *recall[string, int]) { r.Note("a", 1, noon); r.Expire(noon.Add(time.Hour), time.Hour) }, map[string]int{}},
		"the age of a replaced value": {func(r *recall[string, int]) {
			r.Note("a", 1, noon)
			r.Replace("a", 2)
			r.Expire(noon.Add(time.Hour), time.Hour)
		}, map[string]int{}},
		"the age of the last note": {func(r *recall[string, int]) {
			r.Note("a", 1, noon)
			r.Note("a", 2, noon.Add(time.Minute))
			r.Expire(noon.Add(time.Hour), time.Hour)
		}, map[string]int{"a": 2}},
		"what a running action noted":   {func(r *recall[string, int]) { r.Note("a", 1, noon.Add(time.Minute)); r.Expire(noon, time.Hour) }, map[string]int{"a": 1}},
		"nothing noted by a fast clock": {func(r *recall[string, int]) { r.Note("a", 1, noon.Add(24*time.Hour)); r.Expire(noon, time.Hour) }, map[string]int{}},
		"what the rule keeps, as it changes it": {func(r *recall[string, int]) {
			r.Note("a", 1, noon)
			r.Note("b", 2, noon)
			r.keep(func(key string, was *noted[int]) bool { was.value *= 10; return key == "b" })
		}, map[string]int{"b": 20}},
	} {
		var r recall[string, int]
		test.does(&r)
		assert.Equal(t, test.want, r.All(), name)
		for key, value := range test.want {
			got, _, known := r.Get(key)
			assert.True(t, known, name)
			assert.Equal(t, value, got, name)
		}
	}
}

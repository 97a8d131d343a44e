package action

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestEveryActionHasASubject(t *testing.T) {
	for _, a := range kinds {
		_, returns := a.(ReturnNodes)
		assert.NotEmpty(t, a.About().Kind, "%T", a)
		assert.True(t, returns || a.About().Done != "", "%T has an event for the log", a)
	}
	for _, then := range []Then{Requeue, Hold, Cancel} {
		assert.NotEmpty(t, ReturnNodes{Then: then}.About().Done, then)
	}
	assert.Len(t, slices.Compact(slices.Sorted(slices.Values(Kinds()))), len(kinds), "no two are of one kind")
}

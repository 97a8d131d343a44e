package action

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestEveryActionHasASubject(t *testing.T) {
	for _, a := range kinds {
		assert.NotEmpty(t, a.About().Kind, "%T", a)
	}
	assert.Len(t, slices.Compact(slices.Sorted(slices.Values(Kinds()))), len(kinds), "no two are of one kind")
}

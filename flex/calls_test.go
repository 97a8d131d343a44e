package flex

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestTheNodesOfACallAreSortedByWhomTheyConcern(t *testing.T) {
	assert.Equal(t, Calls{
		Ours:    []string{"alpha-a3-0", "alpha-one-3"},
		Others:  []string{"alpha-cpu-1"},
		Unknown: []string{"alpha-a3-8", "beta-a3-0", "alpha-a3-00", ""},
	}, Sort(alphaConfig(t), []string{
		"alpha-a3-0", "alpha-a3-8", "alpha-cpu-1", "beta-a3-0", "alpha-one-3", "alpha-a3-00", "",
	}))
	assert.Equal(t, Calls{}, Sort(alphaConfig(t), nil))
}

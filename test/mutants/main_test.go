package main

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestEveryMutantStillApplies(t *testing.T) {
	t.Chdir("../..")
	bugs := map[string]bool{}
	for _, m := range mutants {
		text, err := m.planted()
		require.NoError(t, err, m.bug)
		assert.NotEmpty(t, text)
		assert.NotEmpty(t, m.tests, m.bug)
		assert.False(t, bugs[m.bug], "%q is there twice", m.bug)
		bugs[m.bug] = true
	}
}

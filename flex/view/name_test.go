package view

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// C18: users do not know the raw id of an array task.
func TestJobNamesMatchSqueue(t *testing.T) {
	for name, test := range map[string]struct {
		job           Job
		name, address string
	}{
		"a job":                          {Job{ID: 812}, "812", "812"},
		"an array's task":                {Job{ID: 901, ArrayID: 900, ArrayTask: "3"}, "900_3", "900_3"},
		"tasks that are not apart":       {Job{ID: 900, ArrayID: 900, ArrayTask: "1-3"}, "900_[1-3]", "900"},
		"tasks with few running at once": {Job{ID: 900, ArrayID: 900, ArrayTask: "2%2"}, "900_[2%2]", "900"},
		"a heterogeneous job's leader":   {Job{ID: 4, HetID: 4}, "4+0", "4"},
		"a component":                    {Job{ID: 5, HetID: 4, HetOffset: 1}, "4+1", "4"},
	} {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, test.name, test.job.Name())
			assert.Equal(t, test.address, test.job.address())
			n, ok := parseNumber(test.job.Name())
			require.True(t, ok)
			assert.Equal(t, !n.isRaw(), n.isOf(test.job), "what is shown can be asked for")
		})
	}
}

func TestJobNumbersDoNotCollide(t *testing.T) {
	for shown, other := range map[string]Job{
		"4+1":   {ID: 5, HetID: 3, HetOffset: 1},
		"4+0":   {ID: 4},
		"4+2":   {ID: 5, HetID: 4, HetOffset: 1},
		"900_3": {ID: 901, ArrayID: 900, ArrayTask: "4"},
		"900_4": {ID: 900, ArrayID: 900, ArrayTask: "1-3%2"},
		"900_5": {ID: 904, ArrayID: 901, ArrayTask: "5"},
	} {
		n, ok := parseNumber(shown)
		require.True(t, ok, shown)
		assert.False(t, n.isOf(other), shown)
	}
}

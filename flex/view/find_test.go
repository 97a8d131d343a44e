package view

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestFindAcceptsTheNumberThatSqueueShows(t *testing.T) {
	v := View{
		Jobs: []Job{
			{ID: 903, ArrayID: 900, ArrayTask: "3"}, {ID: 904, ArrayID: 900, ArrayTask: "4"},
		},
		Rows: []Row{{Jobs: []uint32{812, 903}, Nodes: []string{"alpha-a3-0"}}, {Jobs: []uint32{903}, Nodes: []string{"alpha-a3-1"}}},
	}
	for _, name := range []string{"900_3", "903"} {
		j, rows, err := v.Find(name)
		require.NoError(t, err, name)
		assert.EqualValues(t, 903, j.ID, name)
		assert.Len(t, rows, 2)
	}
	for name, says := range map[string]string{
		"7": "job 7 is not in Slurm's queue", "alpha-a3-0": `"alpha-a3-0" must be a job number, as squeue shows it`, "900": "900 is several jobs; ask for one of them, such as 900_3",
	} {
		_, _, err := v.Find(name)
		assert.EqualError(t, err, says)
	}
}

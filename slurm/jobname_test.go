package slurm

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// C18: nobody knows the raw id of an array's task.
func TestAJobIsNamedAsSqueueShowsIt(t *testing.T) {
	for name, job := range map[string]Job{
		"812":         {ID: 812, ArrayID: 812},
		"900_3":       {ID: 903, ArrayID: 900, ArrayTask: "3"},
		"900_[1-3%2]": {ID: 900, ArrayID: 900, ArrayTask: "1-3%2"},
		"812+1":       {ID: 813, ArrayID: 813, HetID: 812, HetOffset: 1},
	} {
		assert.Equal(t, name, job.Name())
	}
}

package slurm

import (
	"fmt"
	"strings"
)

// Name returns the job id that squeue shows to the owner: 812; 900_3 for an array task; 900_[1-3%2]
// for array tasks that still share one record; 812+1 for a component of a heterogeneous job.
func (j Job) Name() string {
	switch {
	case j.HetID != 0:
		return fmt.Sprintf("%d+%d", j.HetID, j.HetOffset)
	case j.ArrayTask == "":
		return fmt.Sprint(j.ID)
	case j.IsTaskSet():
		return fmt.Sprintf("%d_[%s]", j.ArrayID, j.ArrayTask)
	}
	return fmt.Sprintf("%d_%s", j.ArrayID, j.ArrayTask)
}

// IsTaskSet reports whether the job is one record for several array tasks. The last such task does
// not count as a set.
func (j Job) IsTaskSet() bool { return strings.ContainsAny(j.ArrayTask, "-,:%") }

// Array returns the id of the job's array; 0 if the job is not an array task.
func (j Job) Array() uint32 {
	if j.ArrayTask == "" {
		return 0
	}
	return j.ArrayID
}

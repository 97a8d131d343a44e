package slurm

import (
	"fmt"
	"strings"
)

// Name is the job as squeue shows it and its owner knows it: 812, 900_3 for a
// task of an array, 900_[1-3%2] for tasks that Slurm has not told apart yet,
// 812+1 for a component of a heterogeneous job.
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

// IsTaskSet reports whether the job is a record of tasks of an array that Slurm has not told apart; the
// last such task is one by itself.
func (j Job) IsTaskSet() bool { return strings.ContainsAny(j.ArrayTask, "-,:%") }

// Array is the id of the array that the job is a task of; 0 if it is none.
func (j Job) Array() uint32 {
	if j.ArrayTask == "" {
		return 0
	}
	return j.ArrayID
}

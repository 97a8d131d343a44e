package view

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"slurmflex/slurm"
)

// Name returns the job's name as squeue shows it; see slurm.Job.Name.
func (j Job) Name() string { return j.inSlurm().Name() }

// inSlurm returns the numbers by which Slurm identifies the job.
func (j Job) inSlurm() slurm.Job {
	return slurm.Job{ID: j.ID, ArrayID: cmp.Or(j.ArrayID, j.ID), ArrayTask: j.ArrayTask, HetID: j.HetID, HetOffset: j.HetOffset}
}

// address returns the number for Slurm commands that change the job. They change all components of
// a heterogeneous job, and all pending tasks that Slurm has not yet split off.
func (j Job) address() string {
	switch {
	case j.HetID != 0:
		return fmt.Sprint(j.HetID)
	case j.inSlurm().IsTaskSet():
		return fmt.Sprint(j.ID)
	}
	return j.Name()
}

// component returns the number for Slurm commands that change the job, but no other component.
func (j Job) component() string {
	if j.HetID != 0 {
		return j.Name()
	}
	return j.address()
}

// hasTask reports whether the job is that task of an array, or a set of tasks that includes it:
// Slurm splits pending tasks off late. A set that squeue has cut off may include the task.
func (j Job) hasTask(task string) bool {
	index, err := strconv.Atoi(task)
	return j.ArrayTask == task || strings.Contains(j.ArrayTask, "...") || err == nil && slices.Contains(j.inSlurm().Tasks(), index)
}

// nameOf returns the name of the job with that raw id. For a job that has left the queue, the name
// is the raw id.
func (v View) nameOf(id uint32) string {
	if j, queued := first(v.Jobs, func(j Job) bool { return j.ID == id }); queued {
		return j.Name()
	}
	return fmt.Sprint(id)
}

// number is a job number as users write it.
type number struct {
	id     uint32
	task   string // task of an array, or a set of tasks; "" for none
	offset string // component of a heterogeneous job; "" for none
}

// numberForm matches the number of a job, of an array's task or tasks, or of a component.
var numberForm = regexp.MustCompile(`^(\d{1,10})(?:_(\d+)|_\[([\d,:%-]+)\]|\+(\d+))?$`)

// parseNumber reads the number of a job.
func parseNumber(subject string) (n number, ok bool) {
	m := numberForm.FindStringSubmatch(subject)
	if m == nil {
		return number{}, false
	}
	id, err := strconv.ParseUint(m[1], 10, 32)
	return number{id: uint32(id), task: m[2] + m[3], offset: m[4]}, err == nil && id > 0
}

// isRaw reports whether the number is a bare number, such as a raw id.
func (n number) isRaw() bool { return n.task == "" && n.offset == "" }

// isOf reports whether the number, taken as a name and not as a raw id, belongs to the job or its
// array.
func (n number) isOf(j Job) bool {
	if n.offset != "" {
		return j.HetID == n.id && fmt.Sprint(j.HetOffset) == n.offset
	}
	return j.ArrayID == n.id && (n.task == "" || j.hasTask(n.task))
}

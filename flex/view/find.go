package view

import (
	"fmt"
	"slices"
)

// Numbered returns the jobs in Slurm's queue with that number, and reports whether the name is the number
// of a job.
func (v View) Numbered(name string) (jobs []Job, isJob bool) {
	n, isJob := parseNumber(name)
	if isJob {
		jobs = v.numbered(n)
	}
	return jobs, isJob
}

// numbered returns the jobs with that number: a task by its raw id, or those that squeue shows by it.
func (v View) numbered(n number) []Job {
	raw := keep(v.Jobs, func(j Job) bool { return n.isRaw() && j.ID == n.id && j.ArrayID != n.id })
	if len(raw) > 0 {
		return raw
	}
	return keep(v.Jobs, n.isOf)
}

// Find returns the job with the number that squeue shows (812, 812_3, 812+1) or with that raw id,
// and the rows of its nodes. It fails if the job does not exist, or if the number is ambiguous.
func (v View) Find(name string) (Job, []Row, error) {
	switch found, isJob := v.Numbered(name); {
	case !isJob:
		return Job{}, nil, fmt.Errorf("%q must be a job number, as squeue shows it", Printable(name))
	case len(found) == 0:
		return Job{}, nil, fmt.Errorf("job %s is not in Slurm's queue", name)
	case len(found) > 1:
		return Job{}, nil, fmt.Errorf("%s is several jobs; ask for one of them, such as %s", name, found[0].Name())
	default:
		return found[0], v.rowsOf(found[0]), nil
	}
}

// rowsOf returns the rows of the job's nodes.
func (v View) rowsOf(j Job) []Row {
	return keep(v.Rows, func(r Row) bool { return slices.Contains(r.Jobs, j.ID) })
}

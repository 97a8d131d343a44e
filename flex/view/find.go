package view

import (
	"fmt"
	"slices"
)

// HasJob reports whether a job, or a task of an array, with that number is in Slurm's queue.
func (v View) HasJob(name string) bool {
	n, ok := parseNumber(name)
	return ok && slices.ContainsFunc(v.Jobs, func(j Job) bool { return n.isRaw() && j.ID == n.id || n.isOf(j) })
}

// Find returns the job with the number that squeue shows (812, 812_3, 812+1) or with that raw id,
// and the rows of its nodes. It fails if the job does not exist, or if the number is ambiguous.
func (v View) Find(name string) (Job, []Row, error) {
	n, ok := parseNumber(name)
	if !ok {
		return Job{}, nil, fmt.Errorf("%w: %q; must be a job number, as squeue shows it", ErrUnknown, Printable(name))
	}
	var found []Job
	for _, j := range v.Jobs {
		if n.isRaw() && j.ID == n.id && j.ArrayID != n.id {
			found = []Job{j}
			break
		}
		if n.isOf(j) {
			found = append(found, j)
		}
	}
	switch len(found) {
	case 0:
		return Job{}, nil, fmt.Errorf("%w: job %s is not in Slurm's queue", ErrUnknown, name)
	case 1:
	default:
		return Job{}, nil, fmt.Errorf("%w: %s is several jobs; ask for one of them, such as %s", ErrUnknown, name, found[0].Name())
	}
	var rows []Row
	for _, r := range v.Rows {
		if slices.Contains(r.Jobs, found[0].ID) {
			rows = append(rows, r)
		}
	}
	return found[0], rows, nil
}

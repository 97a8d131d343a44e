package scontrol

import (
	"context"
	"crypto/rand"
	"errors"
	"slices"
	"strconv"

	"slurmflex/slurm"
)

// JobRecords reads the records of these jobs, once each, in any order. Jobs that slurmctld no
// longer knows are left out. Unreadable records are left out too: the error that is returned with
// the other records has a *slurm.JobRecordError for each. With any other error no records are
// returned.
func (c *Client) JobRecords(ctx context.Context, ids []uint32) ([]slurm.JobRecord, error) {
	ids = slices.Compact(slices.Sorted(slices.Values(ids)))
	if len(ids) == 0 {
		return nil, nil
	}
	mark := rand.Text()
	args := []string{"-h", "-a", "-t", "all", "-O", slurm.JobRecordFormat(mark)}
	if len(ids) == 1 { // for several ids, squeue requests all jobs from slurmctld anyway
		args = append(args, "-j", strconv.FormatUint(uint64(ids[0]), 10))
	}
	out, err := c.run(ctx, "squeue", args...)
	if errors.Is(err, ErrUnknownJob) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return slurm.ParseJobRecords(out, mark, ids)
}

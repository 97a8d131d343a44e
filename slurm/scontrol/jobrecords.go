package scontrol

import (
	"context"
	"crypto/rand"
	"errors"
	"slices"
	"strconv"

	"slurmflex/slurm"
)

// JobRecords reads all of these jobs, each once, in no particular order. Jobs
// that slurmctld no longer knows are not in the answer. Neither are those whose
// record cannot be read: each is a *slurm.JobRecordError in an error that comes
// with the other records. Any other error comes with no records.
func (c *Client) JobRecords(ctx context.Context, ids []uint32) ([]slurm.JobRecord, error) {
	ids = slices.Compact(slices.Sorted(slices.Values(ids)))
	if len(ids) == 0 {
		return nil, nil
	}
	mark := rand.Text()
	args := []string{"-h", "-a", "-t", "all", "-O", slurm.JobRecordFormat(mark)}
	if len(ids) == 1 { // of more, squeue asks slurmctld for all jobs anyway
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

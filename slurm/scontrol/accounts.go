package scontrol

import (
	"context"
	"crypto/rand"
	"errors"
	"strconv"

	"slurmflex/slurm"
)

// Accounts returns the account of each of these jobs, by raw id. Jobs without an account, and jobs
// that slurmctld no longer knows, are left out.
func (c *Client) Accounts(ctx context.Context, ids []uint32) (map[uint32]string, error) {
	mark := rand.Text()
	args := []string{"-h", "-a", "-o", slurm.AccountFormat(mark)}
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
	return slurm.ParseAccounts(out, mark), nil
}

package scontrol

import (
	"context"
	"crypto/rand"

	"slurmflex/slurm"
)

// Allowances reads the limits of licenses and, with accounting, the limits of accounts, users and
// QOS. It reads the pending jobs and their charges first and the usage afterwards, so that a job
// that starts in between counts twice instead of never.
func (c *Client) Allowances(ctx context.Context, accounting bool) (a slurm.Allowances, err error) {
	mark := rand.Text()
	out, err := c.run(ctx, "squeue", "-h", "-a", "-t", "PENDING", "-O", slurm.ChargeFormat(mark))
	if err != nil {
		return slurm.Allowances{}, err
	}
	a.Charges = slurm.ParseCharges(out, mark)
	if out, err = c.run(ctx, "scontrol", "-o", "show", "licenses"); err != nil {
		return slurm.Allowances{}, err
	}
	if a.Licenses = slurm.ParseLicenses(out); !accounting {
		return a, nil
	}
	if out, err = c.run(ctx, "scontrol", "-o", "show", "assoc_mgr", "flags=assoc,qos"); err != nil {
		return slurm.Allowances{}, err
	}
	a.Associations, a.QOS, err = slurm.ParseAssociations(out)
	return a, err
}

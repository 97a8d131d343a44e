package scontrol

import (
	"context"
	"crypto/rand"
	"slices"

	"slurmflex/slurm"
)

// Allowances reads the limits of licenses and, if AccountingStorageEnforce has them, the limits of
// accounts, users and QOS. It reads the pending jobs and their charges first and the usage afterwards, so that a job
// that starts in between counts twice instead of never.
func (c *Client) Allowances(ctx context.Context, enforced []string) (a slurm.Allowances, err error) {
	mark := rand.Text()
	out, err := c.squeue(ctx, "-t", "PENDING", "-O", slurm.ChargeFormat(mark))
	if err != nil {
		return slurm.Allowances{}, err
	}
	a.Charges = slurm.ParseCharges(out, mark)
	if out, err = c.run(ctx, "scontrol", "-o", "show", "licenses"); err != nil {
		return slurm.Allowances{}, err
	}
	if a.Licenses = slurm.ParseLicenses(out); !slices.Contains(enforced, "limits") {
		return a, nil
	}
	if out, err = c.run(ctx, "scontrol", "-o", "show", "assoc_mgr", "flags=assoc,qos"); err != nil {
		return slurm.Allowances{}, err
	}
	a.Associations, a.QOS, err = slurm.ParseAssociations(out, slices.Contains(enforced, "safe"))
	return a, err
}

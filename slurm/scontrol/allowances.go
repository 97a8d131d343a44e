package scontrol

import (
	"context"
	"crypto/rand"

	"slurmflex/slurm"
)

// Allowances reads the limits of licenses, and with accounting those of accounts, users and QOS. With
// slurmdbd, slurmctld takes milliseconds for hundreds of associations.
func (c *Client) Allowances(ctx context.Context, accounting bool) (a slurm.Allowances, err error) {
	out, err := c.run(ctx, "scontrol", "-o", "show", "licenses")
	if err != nil {
		return slurm.Allowances{}, err
	}
	a.Licenses = slurm.ParseLicenses(out)
	if accounting {
		if out, err = c.run(ctx, "scontrol", "-o", "show", "assoc_mgr", "flags=assoc,qos"); err != nil {
			return slurm.Allowances{}, err
		}
		if a.Associations, a.QOS, err = slurm.ParseAssociations(out); err != nil {
			return slurm.Allowances{}, err
		}
	}
	if len(a.Licenses)+len(a.Associations)+len(a.QOS) == 0 {
		return a, nil // nothing is limited
	}
	mark := rand.Text()
	if out, err = c.run(ctx, "squeue", "-h", "-a", "-t", "PENDING", "-o", slurm.ChargeFormat(mark)); err != nil {
		return slurm.Allowances{}, err
	}
	a.Charges = slurm.ParseCharges(out, mark)
	return a, nil
}

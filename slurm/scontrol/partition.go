package scontrol

import (
	"context"
	"fmt"
	"regexp"
)

// partitionName matches a valid partition name: one word of an update.
var partitionName = regexp.MustCompile(`^[^-+=,\s[:cntrl:]][^=,\s[:cntrl:]]*$`)

// ClosePartition stops a partition from starting jobs until its state is UP again, or until
// slurmctld restarts and applies the state in slurm.conf. Jobs with nodes keep them, including
// CONFIGURING jobs. Other jobs wait with the reason PartitionDown.
func (c *Client) ClosePartition(ctx context.Context, name string) error {
	if !partitionName.MatchString(name) {
		return fmt.Errorf("close partition: %q is not a partition's name", plain(name, maxCall))
	}
	_, err := c.run(ctx, "scontrol", "update", "partitionname="+name, "state=down")
	return err
}

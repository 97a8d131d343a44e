package scontrol

import (
	"context"
	"fmt"
	"regexp"
)

// partitionName is what a partition may be called: one word of an update.
var partitionName = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9._-]*$`)

// ClosePartition has a partition begin no jobs until its state is UP again, or slurmctld
// is restarted, which takes the state of slurm.conf. Jobs that have nodes keep them, also
// those that are CONFIGURING; others wait, with the reason PartitionDown.
func (c *Client) ClosePartition(ctx context.Context, name string) error {
	if !partitionName.MatchString(name) {
		return fmt.Errorf("close partition: %q is not a partition's name", plain(name, maxCall))
	}
	_, err := c.run(ctx, "scontrol", "update", "partitionname="+name, "state=down")
	return err
}

package gce

import (
	"context"

	"cloud.google.com/go/compute/apiv1/computepb"
	"golang.org/x/sync/errgroup"

	"slurmflex/mig"
)

// DeleteVMs deletes instances without a group in parallel and skips those that no longer exist. It
// tries all of them; those of a zone that does not answer delay no others. It returns the first
// error when Compute has started the other deletions, which take minutes to complete.
func (c *Client) DeleteVMs(ctx context.Context, instances []mig.Instance) error {
	byZone := map[string][]mig.Instance{}
	for _, in := range instances {
		byZone[in.Zone] = append(byZone[in.Zone], in)
	}
	var zones errgroup.Group
	for _, some := range byZone {
		zones.Go(func() error { return c.deleteInZone(ctx, some) })
	}
	return zones.Wait()
}

func (c *Client) deleteInZone(ctx context.Context, instances []mig.Instance) error {
	var side errgroup.Group
	side.SetLimit(sideBySide)
	for _, in := range instances {
		side.Go(func() error {
			err := c.deleteVM(ctx, in)
			if mig.CauseOf(err) == mig.CauseNotFound {
				return nil
			}
			return err
		})
	}
	return side.Wait()
}

func (c *Client) deleteVM(ctx context.Context, in mig.Instance) error {
	_, err := begin(ctx, "instances.delete", c.instances.Delete, &computepb.DeleteInstanceRequest{
		Project: c.project, Zone: in.Zone, Instance: in.Name, RequestId: newID(),
	})
	return failure("delete instance", in.Zone+"/"+in.Name, ending, err)
}

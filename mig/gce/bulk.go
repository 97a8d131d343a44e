package gce

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	rest "google.golang.org/api/compute/v1"

	"cloud.google.com/go/compute/apiv1/computepb"
	"google.golang.org/protobuf/proto"

	"slurmflex/mig"
)

// BulkInsert creates instances without a group, either all of them in one zone or none, and waits
// until they exist. If Compute creates none, the error quotes Compute for each zone that it tried
// and has one cause for all zones.
//
// A name that is taken is an error with mig.CauseConflict. Names are unique per zone, and with
// several zones another zone may be chosen. So a caller that does not know the outcome of an
// earlier call must read the instances before the next call, or repeat the call with the same
// Occasion.
func (c *Client) BulkInsert(ctx context.Context, b mig.BulkSpec) error {
	on := c.inRegion(b.Region)
	if len(b.Zones) == 1 {
		on = c.inZone(b.Zones[0])
	}
	op, id, err := c.beginBulk(ctx, b)
	if err == nil {
		op, err = await(ctx, on, op)
	}
	if err == nil {
		err = shortfall(op, len(b.Instances))
	}
	var ended *operationError
	if errors.As(err, &ended) {
		ended.faults = append(ended.faults, c.partFaults(ctx, op)...)
	}
	err = failure("bulk insert", bulkObject(b), creating, err)
	c.ids.end(b, id, mig.IsUnknown(err))
	return err
}

// bulkInZone starts a bulk insert in the spec's only zone.
func (c *Client) bulkInZone(ctx context.Context, b mig.BulkSpec, id string) (*rest.Operation, error) {
	return begin(ctx, "instances.bulkInsert", c.instances.BulkInsert, &computepb.BulkInsertInstanceRequest{
		Project: c.project, Zone: b.Zones[0], RequestId: &id,
		BulkInsertInstanceResourceResource: bulkBody(b),
	})
}

// bulkInRegion starts a bulk insert in any one of the spec's zones that can hold all instances.
func (c *Client) bulkInRegion(ctx context.Context, b mig.BulkSpec, id string) (*rest.Operation, error) {
	zones, err := c.zonesOf(ctx, b.Region)
	if err != nil {
		return nil, err
	}
	body := bulkBody(b)
	body.LocationPolicy = &computepb.LocationPolicy{
		TargetShape: proto.String("ANY_SINGLE_ZONE"),
		Locations:   locations(zones, b.Zones),
	}
	return begin(ctx, "regionInstances.bulkInsert", c.regionInstances.BulkInsert, &computepb.BulkInsertRegionInstanceRequest{
		Project: c.project, Region: b.Region, RequestId: &id,
		BulkInsertInstanceResourceResource: body,
	})
}

// bulkBody returns the bulk insert that the provisioning model prescribes, without a zone. Its
// properties override the template's by JSON Merge Patch. Source: discovery document,
// BulkInsertInstanceResource.
func bulkBody(b mig.BulkSpec) *computepb.BulkInsertInstanceResource {
	each := make(map[string]*computepb.BulkInsertInstanceResourcePerInstanceProperties, len(b.Instances))
	for _, name := range b.Instances {
		each[name] = &computepb.BulkInsertInstanceResourcePerInstanceProperties{}
	}
	labels := b.Stamp.Labels()
	for key, value := range b.Template.Labels {
		if _, ours := labels[key]; !ours {
			labels[key] = value
		}
	}
	count := int64(len(b.Instances))
	return &computepb.BulkInsertInstanceResource{
		Count:                  &count,
		MinCount:               &count,
		PerInstanceProperties:  each,
		SourceInstanceTemplate: proto.String(b.Template.Link),
		InstanceProperties: &computepb.InstanceProperties{
			Labels:              labels,
			Scheduling:          scheduling(b),
			ReservationAffinity: affinity(b.Reservation),
		},
	}
}

// scheduling makes Compute delete machines at the end of their lease or after preemption, and not
// restart machines after a host failure. For standard machines, the template decides about
// maintenance, because some machine types do not allow TERMINATE. Sources: Compute's pages "Spot
// VMs" and "Limit the run time of a VM"; the fake rejects e2 with TERMINATE.
func scheduling(b mig.BulkSpec) *computepb.Scheduling {
	s := &computepb.Scheduling{ProvisioningModel: proto.String(b.Model), AutomaticRestart: proto.Bool(false)}
	if b.Model != mig.Standard {
		s.InstanceTerminationAction, s.OnHostMaintenance = proto.String("DELETE"), proto.String("TERMINATE")
	}
	if b.Duration > 0 {
		s.MaxRunDuration = &computepb.Duration{Seconds: proto.Int64(int64(b.Duration / time.Second))}
	}
	return s
}

// affinity makes machines consume the named reservation. Without a name they consume none, as
// flex-start and Spot prescribe. Source: Compute's page "Consume reservations".
func affinity(reservation string) *computepb.ReservationAffinity {
	if reservation == "" {
		return &computepb.ReservationAffinity{ConsumeReservationType: proto.String("NO_RESERVATION")}
	}
	return &computepb.ReservationAffinity{
		ConsumeReservationType: proto.String("SPECIFIC_RESERVATION"),
		Key:                    proto.String("compute.googleapis.com/reservation-name"), Values: []string{reservation},
	}
}

// locations allows the wanted zones and denies the region's other zones: a zone that is not denied
// is allowed.
func locations(all, wanted []string) map[string]*computepb.LocationPolicyLocation {
	m := make(map[string]*computepb.LocationPolicyLocation, len(all))
	for _, zone := range all {
		m["zones/"+zone] = &computepb.LocationPolicyLocation{Preference: proto.String("DENY")}
	}
	for _, zone := range wanted {
		m["zones/"+zone] = &computepb.LocationPolicyLocation{Preference: proto.String("ALLOW")}
	}
	return m
}

// bulkObject returns the instances and the location of a bulk insert, for error messages.
func bulkObject(b mig.BulkSpec) string {
	what := "no instances"
	switch n := len(b.Instances); n {
	case 0:
	case 1:
		what = b.Instances[0]
	default:
		what = fmt.Sprintf("%s and %d more", b.Instances[0], n-1)
	}
	return what + " in " + strings.Join(b.Zones, ", ")
}

package fakegce

import (
	"testing"
	"time"

	compute "cloud.google.com/go/compute/apiv1"
	"cloud.google.com/go/compute/apiv1/computepb"
	"github.com/stretchr/testify/assert"
	"google.golang.org/protobuf/proto"

	"slurmflex/test/must"
)

func bulkOf(count int64, names ...string) *computepb.BulkInsertInstanceResource {
	b := &computepb.BulkInsertInstanceResource{
		Count: &count, SourceInstanceTemplate: proto.String("projects/demo/regions/us-central1/instanceTemplates/a3"),
		PerInstanceProperties: make(map[string]*computepb.BulkInsertInstanceResourcePerInstanceProperties),
	}
	for _, n := range names {
		b.PerInstanceProperties[n] = &computepb.BulkInsertInstanceResourcePerInstanceProperties{}
	}
	return b
}

func (w *world) bulkInsert(b *computepb.BulkInsertInstanceResource) (*compute.Operation, error) {
	client := must.Get(compute.NewRegionInstancesRESTClient(w.t.Context(), w.options...))
	return client.BulkInsert(w.t.Context(), &computepb.BulkInsertRegionInstanceRequest{
		Project: testProject, Region: testRegion, BulkInsertInstanceResourceResource: b,
	})
}

func TestBulkInsertPutsAllVMsIntoOneZoneWithRoom(t *testing.T) {
	w := newWorld(t, slow())
	w.SetCapacity("us-central1-a", testMachine, 0)
	b := bulkOf(2, "n0", "n1")
	b.LocationPolicy = &computepb.LocationPolicy{Locations: map[string]*computepb.LocationPolicyLocation{
		"zones/us-central1-b": {Preference: proto.String("DENY")},
	}}
	b.InstanceProperties = &computepb.InstanceProperties{Labels: map[string]string{"job": "7"}}
	op := w.begun(w.bulkInsert(b))
	w.Advance(2 * time.Second)
	assert.Equal(t, "RUNNING", w.outcome(op), "until the VMs exist")
	w.Advance(10 * time.Second)
	assert.Empty(t, w.outcome(op))
	created := w.operation(op.Name()).GetInstancesBulkInsertOperationMetadata().GetPerLocationStatus()
	assert.EqualValues(t, 2, created["zones/us-central1-c"].GetCreatedVmCount())
	v := w.instance("us-central1-c", "n1")
	assert.Equal(t, "7", v.GetLabels()["job"], "the call's own properties go over the template's")
	assert.Equal(t, "FLEX_START", v.GetScheduling().GetProvisioningModel())
}

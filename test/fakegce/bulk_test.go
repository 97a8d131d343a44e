package fakegce

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	compute "cloud.google.com/go/compute/apiv1"
	"cloud.google.com/go/compute/apiv1/computepb"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
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

func TestBulkInsertWithoutRoomCreatesTheMinimumOrNothing(t *testing.T) {
	w := newWorld(t, Options{})
	w.SetCapacity("", "", 2)
	op := w.begun(w.bulkInsert(bulkOf(3, "n0", "n1", "n2")))
	assert.Equal(t, "ZONE_RESOURCE_POOL_EXHAUSTED_WITH_DETAILS", w.outcome(op))
	assert.EqualValues(t, 503, w.operation(op.Name()).GetHttpErrorStatusCode())
	assert.Empty(t, w.State().Instances)

	b := bulkOf(3, "n0", "n1", "n2")
	b.MinCount = proto.Int64(1)
	op = w.begun(w.bulkInsert(b))
	assert.Empty(t, w.outcome(op))
	assert.Len(t, w.State().Instances, 2)
	status := w.operation(op.Name()).GetInstancesBulkInsertOperationMetadata().GetPerLocationStatus()["zones/us-central1-a"]
	assert.Equal(t, []int32{3, 2, 1}, []int32{status.GetTargetVmCount(), status.GetCreatedVmCount(), status.GetFailedToCreateVmCount()})
}

func TestVMLostDuringBulkInsertIsAConflict(t *testing.T) {
	w := newWorld(t, slow())
	op := w.begun(w.bulkInsert(bulkOf(1, "n0")))
	w.Advance(3 * time.Second)
	require.NoError(t, w.DeleteVM("n0"))
	w.Advance(time.Minute)
	assert.Equal(t, "CONFLICT", w.outcome(op))
	assert.EqualValues(t, 409, w.operation(op.Name()).GetHttpErrorStatusCode())
}

// bootable is the part of a body that every VM needs.
const bootable = `"disks":[{"boot":true,"initializeParams":{"sourceImage":"projects/debian-cloud/global/images/family/debian-12"}}],
	"networkInterfaces":[{"network":"global/networks/default"}]`

func TestBulkInsertRefusesMachineTypesMissingFromItsZones(t *testing.T) {
	w := newWorld(t, Options{})
	w.Withdraw("us-central1-a", testMachine)
	const body = `{"count":"1","perInstanceProperties":{"n-1":{}},"sourceInstanceTemplate":"regions/us-central1/instanceTemplates/a3"}`
	status, answer := w.ask(http.MethodPost, "zones/us-central1-a/instances/bulkInsert", body)
	assert.Equal(t, http.StatusBadRequest, status)
	assert.Contains(t, answer, "Machine type 'a3-highgpu-8g' does not exist.")
	w.post("regions/us-central1/instances/bulkInsert", body)
	assert.Equal(t, "us-central1-b", w.vm("n-1").Zone)
}

func TestBulkInsertOfStandardVMsSupportsAccelerators(t *testing.T) {
	w := newWorld(t, Options{})
	status, answer := w.ask(http.MethodPost, "zones/us-central1-a/instances/bulkInsert", `{"count":"1","perInstanceProperties":{"n-1":{}},
		"instanceProperties":{"machineType":"n1-standard-8",`+bootable+`,"guestAccelerators":[{"acceleratorType":"bogus","acceleratorCount":1}],
		"scheduling":{"onHostMaintenance":"TERMINATE"}}}`)
	assert.Equal(t, http.StatusBadRequest, status)
	assert.Contains(t, answer, "Accelerator type 'bogus' is not available with machine type 'n1-standard-8'.")
}

func TestBulkInsertMayCreateMoreThanAThousandVMs(t *testing.T) {
	w := newWorld(t, Options{})
	named := func(n int) (names []string) {
		for i := range n {
			names = append(names, fmt.Sprintf("n-%d", i))
		}
		return names
	}
	_, err := w.bulkInsert(bulkOf(maxBulk+1, named(maxBulk+1)...))
	assertRefused(t, err, http.StatusBadRequest, "invalid", "Must be between 1 and 5000")
	w.begun(w.bulkInsert(bulkOf(1001, named(1001)...)))
	assert.Len(t, w.State().Instances, 1001)
}

func TestBulkInsertMayNameItsZones(t *testing.T) {
	w := newWorld(t, Options{})
	b := bulkOf(1, "n0")
	b.LocationPolicy = &computepb.LocationPolicy{
		TargetShape: proto.String("ANY_SINGLE_ZONE"), Zones: []*computepb.LocationPolicyZoneConfiguration{{Zone: proto.String("zones/us-central1-c")}},
	}
	w.begun(w.bulkInsert(b))
	assert.Equal(t, "us-central1-c", w.vm("n0").Zone)
	b.LocationPolicy.Zones[0].Zone = proto.String("zones/europe-west4-a")
	_, err := w.bulkInsert(b)
	assertRefused(t, err, http.StatusBadRequest, "invalid", "'resource.locationPolicy.zones[0].zone': 'zones/europe-west4-a'. It is not a zone of region 'us-central1'")
}

func TestZonalBulkInsertUsesOnlyItsZone(t *testing.T) {
	w := newWorld(t, Options{})
	w.post("zones/europe-west4-b/instances/bulkInsert", `{"count":"1","perInstanceProperties":{"n0":{}},"instanceProperties":{"machineType":"n2-standard-2",`+bootable+`}}`)
	assert.Equal(t, "europe-west4-b", w.vm("n0").Zone)
	assert.Zero(t, w.vm("n0").Terminates, "no lease")
}

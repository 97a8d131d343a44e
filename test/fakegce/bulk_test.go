package fakegce

import (
	"net/http"
	"testing"
	"time"

	compute "cloud.google.com/go/compute/apiv1"
	"cloud.google.com/go/compute/apiv1/computepb"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
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
	client, err := compute.NewRegionInstancesRESTClient(w.t.Context(), w.options...)
	require.NoError(w.t, err)
	return client.BulkInsert(w.t.Context(), &computepb.BulkInsertRegionInstanceRequest{
		Project: testProject, Region: testRegion, BulkInsertInstanceResourceResource: b,
	})
}

func TestABulkInsertPutsItsVMsIntoOneZoneThatTakesThem(t *testing.T) {
	w := newWorld(t, slow())
	w.SetCapacity("us-central1-a", testMachine, 0)
	b := bulkOf(2, "n0", "n1")
	b.LocationPolicy = &computepb.LocationPolicy{Locations: map[string]*computepb.LocationPolicyLocation{
		"zones/us-central1-b": {Preference: proto.String("DENY")},
	}}
	b.InstanceProperties = &computepb.InstanceProperties{Labels: map[string]string{"job": "7"}}
	op, err := w.bulkInsert(b)
	require.NoError(t, err)
	w.Advance(2 * time.Second)
	assert.Equal(t, "RUNNING", w.outcome(op), "until the VMs exist")
	w.Advance(10 * time.Second)
	assert.Empty(t, w.outcome(op))
	assert.EqualValues(t, 2, w.operation(op.Name()).GetInstancesBulkInsertOperationMetadata().GetPerLocationStatus()["zones/us-central1-c"].GetCreatedVmCount())
	v, err := w.instance("us-central1-c", "n1")
	require.NoError(t, err)
	assert.Equal(t, "7", v.GetLabels()["job"], "the call's own properties go over the template's")
	assert.Equal(t, "FLEX_START", v.GetScheduling().GetProvisioningModel())
}

func TestABulkInsertWithoutRoomCreatesNothingOrTheLeastItMay(t *testing.T) {
	w := newWorld(t, Options{})
	w.SetCapacity("", "", 2)
	op, err := w.bulkInsert(bulkOf(3, "n0", "n1", "n2"))
	require.NoError(t, err)
	assert.Equal(t, "ZONE_RESOURCE_POOL_EXHAUSTED_WITH_DETAILS", w.outcome(op))
	assert.EqualValues(t, 503, w.operation(op.Name()).GetHttpErrorStatusCode())
	assert.Empty(t, w.State().Instances)

	b := bulkOf(3, "n0", "n1", "n2")
	b.MinCount = proto.Int64(1)
	op, err = w.bulkInsert(b)
	require.NoError(t, err)
	assert.Empty(t, w.outcome(op))
	assert.Len(t, w.State().Instances, 2)
}

func TestABulkInsertNumbersItsPatternAfterWhatIsThere(t *testing.T) {
	w := newWorld(t, Options{})
	for range 2 {
		b := bulkOf(2)
		b.NamePattern = proto.String("node-###")
		_, err := w.bulkInsert(b)
		require.NoError(t, err)
	}
	found, err := w.list(t.Context(), "")
	require.NoError(t, err)
	assert.Equal(t, map[string][]string{"zones/us-central1-a": {"node-001", "node-002", "node-003", "node-004"}}, found)
}

func TestAVMLostDuringABulkInsertIsAConflict(t *testing.T) {
	w := newWorld(t, slow())
	op, err := w.bulkInsert(bulkOf(1, "n0"))
	require.NoError(t, err)
	w.Advance(3 * time.Second)
	require.NoError(t, w.DeleteVM("n0"))
	w.Advance(time.Minute)
	assert.Equal(t, "CONFLICT", w.outcome(op))
	assert.EqualValues(t, 409, w.operation(op.Name()).GetHttpErrorStatusCode())
}

func TestABulkInsertRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		edit func(*computepb.BulkInsertInstanceResource)
		says string
	}{
		"no count":                  {func(b *computepb.BulkInsertInstanceResource) { b.Count = nil }, "count"},
		"more names than its count": {func(b *computepb.BulkInsertInstanceResource) { b.Count = proto.Int64(1) }, "There are 2 names"},
		"a minimum above its count": {func(b *computepb.BulkInsertInstanceResource) { b.MinCount = proto.Int64(3) }, "minCount"},
		"names and a pattern":       {func(b *computepb.BulkInsertInstanceResource) { b.NamePattern = proto.String("n-#") }, "namePattern"},
		"a template that is not there": {func(b *computepb.BulkInsertInstanceResource) {
			b.SourceInstanceTemplate = proto.String("global/instanceTemplates/none")
		}, "was not found"},
		"no machine type": {func(b *computepb.BulkInsertInstanceResource) { b.SourceInstanceTemplate = nil }, "machineType"},
		"a shape that it does not have": {func(b *computepb.BulkInsertInstanceResource) {
			b.LocationPolicy = &computepb.LocationPolicy{TargetShape: proto.String("BALANCED")}
		}, "BALANCED"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, Options{})
			b := bulkOf(2, "n0", "n1")
			c.edit(b)
			_, err := w.bulkInsert(b)
			require.Error(t, err)
			assert.Contains(t, err.Error(), c.says)
			assert.Empty(t, w.State().Instances)
		})
	}
}

func TestAZonalBulkInsertStaysInItsZone(t *testing.T) {
	w := newWorld(t, Options{})
	client := &http.Client{Transport: &schemaChecker{t: t, next: w.Transport()}}
	post(t, client, "zones/europe-west4-b/instances/bulkInsert", `{"count":"1","perInstanceProperties":{"n0":{}},"instanceProperties":{"machineType":"n2-standard-2"}}`)
	v, _ := w.State().Instance("n0")
	assert.Equal(t, "europe-west4-b", v.Zone)
	assert.Zero(t, v.Terminates, "no lease")
}

package fakegce

import (
	"testing"
	"time"

	"cloud.google.com/go/compute/apiv1/computepb"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"slurmflex/test/must"
)

// bulkGroup is the body of a group m in bulk mode.
func bulkGroup(size int32) *computepb.InstanceGroupManager {
	g := flexGroup("m", "us-central1-a")
	g.TargetSize = &size
	g.TargetSizePolicy = &computepb.InstanceGroupManagerTargetSizePolicy{Mode: proto.String("BULK")}
	return g
}

func (w *world) setSize(size int32) error {
	_, err := w.groups.Resize(w.t.Context(), &computepb.ResizeRegionInstanceGroupManagerRequest{
		Project: testProject, Region: testRegion, InstanceGroupManager: "m", Size: size,
	})
	w.Advance(w.opts.OperationTime)
	return err
}

func TestAGroupInBulkModeWaitsUntilAllItsInstancesFit(t *testing.T) {
	w := newWorld(t, slow())
	w.SetCapacity("", "", 2)
	w.begun(w.insertGroup(bulkGroup(3)))
	w.Advance(time.Minute)
	status := w.group("m").GetStatus().GetBulkInstanceOperation()
	assert.True(t, status.GetInProgress())
	assert.Equal(t, "ZONE_RESOURCE_POOL_EXHAUSTED_WITH_DETAILS", status.GetLastProgressCheck().GetError().GetErrors()[0].GetCode())
	assert.Empty(t, w.State().Instances, "not even those that fit")
	assert.Len(t, w.members("m"), 3)
	w.SetCapacity("", "", 3)
	w.Advance(2 * time.Minute)
	assert.False(t, w.group("m").GetStatus().GetBulkInstanceOperation().GetInProgress())
	assert.True(t, w.group("m").GetStatus().GetIsStable())
	assert.Len(t, w.State().Instances, 3)
}

func TestAGroupInBulkModeGrowsFromNothingOnly(t *testing.T) {
	w := newWorld(t, Options{})
	w.begun(w.insertGroup(bulkGroup(0)))
	w.Advance(time.Second)
	require.NoError(t, w.setSize(2))
	w.Advance(time.Minute)
	assert.ErrorContains(t, w.setSize(3), "it grows only while it has no instances")
	require.NoError(t, w.setSize(1))
	w.Advance(time.Minute)
	assert.Len(t, w.State().Instances, 1)
}

func TestABulkCreationThatWaitsEndsWithTheSizeZeroOrTheGroup(t *testing.T) {
	w := newWorld(t, Options{})
	w.SetCapacity("", "", 0)
	w.begun(w.insertGroup(bulkGroup(2)))
	w.Advance(time.Minute)
	assert.ErrorContains(t, w.setSize(1), "it can be resized to 0 only")
	require.NoError(t, w.setSize(0))
	assert.Empty(t, w.members("m"))
	assert.Zero(t, w.group("m").GetTargetSize())
	require.NoError(t, w.setSize(2))
	w.begun(w.deleteGroup("m"))
	w.Advance(time.Minute)
	assert.Empty(t, w.State().Groups)
	w.SetCapacity("", "", -1)
	w.Advance(time.Minute)
	assert.Empty(t, w.State().Instances)
}

func TestAGroupInBulkModeTakesNoResizeRequest(t *testing.T) {
	w := newWorld(t, Options{})
	w.begun(w.insertGroup(bulkGroup(0)))
	w.Advance(time.Second)
	op := w.begun(w.insertRequest("m", namedRequest("r", "n0")))
	w.Advance(time.Second)
	assert.Equal(t, "UNSUPPORTED_OPERATION", w.outcome(op))
}

func TestAGroupThatCannotBeInBulkModeIsRefused(t *testing.T) {
	w := newWorld(t, Options{})
	givenTemplates(t, w)
	short := FlexTemplate("short", testMachine)
	short.Properties.Scheduling.MaxRunDuration.Seconds = 599
	must.Get(w.AddTemplate(testRegion, short))
	for message, change := range map[string]func(*computepb.InstanceGroupManager){
		"DO_NOTHING": func(g *computepb.InstanceGroupManager) { g.InstanceLifecyclePolicy = nil },
		"Requests without accelerators are not supported.": func(g *computepb.InstanceGroupManager) {
			g.Versions[0].InstanceTemplate = proto.String("regions/us-central1/instanceTemplates/cpu")
		},
		"scheduling.maxRunDuration of 600 to 604800 seconds.": func(g *computepb.InstanceGroupManager) {
			g.Versions[0].InstanceTemplate = proto.String("regions/us-central1/instanceTemplates/short")
		},
		"ANY_SINGLE_ZONE": func(g *computepb.InstanceGroupManager) { g.DistributionPolicy.TargetShape = proto.String("EVEN") },
	} {
		g := bulkGroup(1)
		change(g)
		_, err := w.insertGroup(g)
		assert.ErrorContains(t, err, message)
	}
}

// reservedTemplate is a template "r" whose machines are bound to a reservation.
func (w *world) reservedTemplate() {
	spec := FlexTemplate("r", testMachine)
	p := spec.Properties
	p.Scheduling.ProvisioningModel, p.Scheduling.MaxRunDuration = "RESERVATION_BOUND", nil
	p.ReservationAffinity.ConsumeReservationType = "SPECIFIC_RESERVATION"
	p.ReservationAffinity.Key, p.ReservationAffinity.Values = "compute.googleapis.com/reservation-name", []string{"mine"}
	must.Get(w.AddTemplate(testRegion, spec))
}

func TestARequestBoundToAReservationNeedsNoDuration(t *testing.T) {
	w := newWorld(t, Options{})
	w.reservedTemplate()
	require.NoError(t, w.SetReservation("mine", "us-central1-a", testMachine, 1))
	g := flexGroup("m", "us-central1-a")
	g.Versions[0].InstanceTemplate = proto.String("projects/demo/regions/us-central1/instanceTemplates/r")
	w.begun(w.insertGroup(g))
	w.Advance(time.Second)
	r := namedRequest("r", "n0")
	r.RequestedRunDuration = nil
	op := w.begun(w.insertRequest("m", r))
	w.Advance(time.Minute)
	assert.Empty(t, w.outcome(op))
	got, err := w.instance("us-central1-a", "n0")
	require.NoError(t, err)
	assert.Equal(t, "RESERVATION_BOUND", got.GetScheduling().GetProvisioningModel())
	assert.Nil(t, got.GetResourceStatus().GetScheduling(), "it has no lease: it runs until its reservation ends")
}

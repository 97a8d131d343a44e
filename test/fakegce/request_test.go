package fakegce

import (
	"fmt"
	"testing"
	"time"

	"cloud.google.com/go/compute/apiv1/computepb"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// slow returns options that give each step a different duration, so that a test can
// distinguish them.
func slow() Options {
	return Options{
		OperationTime: 2 * time.Second, BootTime: 20 * time.Second, DeleteTime: 10 * time.Second, AttemptInterval: time.Minute,
	}
}

func TestRequestIsCreatingUntilItsOperationEndsThenAccepted(t *testing.T) {
	w := newWorld(t, slow())
	w.SetCapacity("", "", 0)
	w.givenGroup("m")
	op := w.begun(w.insertRequest("m", namedRequest("r", "n0", "n1")))

	first := op.Proto()
	assert.Equal(t, computepb.Operation_RUNNING, first.GetStatus())
	assert.Equal(t, "compute.regionInstanceGroupManagerResizeRequests.insert", first.GetOperationType())
	assert.Regexp(t, `^operation-\d{13}-[0-9a-f]{13}-[0-9a-f]{8}-[0-9a-f]{8}$`, first.GetName())
	assert.NotNil(t, first.Progress)
	assert.Contains(t, first.GetTargetLink(), "regions/us-central1/instanceGroupManagers/m/resizeRequests/r")
	assert.NotNil(t, w.request("m", "r").Status, "status is always there")
	assert.Equal(t, "2; r CREATING; n0 CREATING; n1 CREATING;", w.shows(), "the size was raised at receipt")
	assert.Nil(t, w.members("m")["n0"].Id)
	assert.Nil(t, w.members("m")["n0"].InstanceStatus)

	w.Advance(2 * time.Second)
	assert.Empty(t, w.outcome(op))
	assert.Equal(t, "2; r ACCEPTED; n0 CREATING; n1 CREATING;", w.shows())
}

func TestRequestIsAcceptedUntilTheLastVMExists(t *testing.T) {
	w := granted(t, slow(), "n0")
	assert.Equal(t, "1; r ACCEPTED; n0 CREATING PROVISIONING;", w.shows())
	w.Advance(10 * time.Second)
	assert.Equal(t, "1; r SUCCEEDED; n0 CREATING STAGING;", w.shows())
	assert.EqualValues(t, 1, w.group("m").GetCurrentActions().GetCreating())
	assert.False(t, w.group("m").GetStatus().GetIsStable())
	w.Advance(10 * time.Second)
	assert.Equal(t, "1; r SUCCEEDED; n0 NONE RUNNING;", w.shows())
	assert.True(t, w.group("m").GetStatus().GetIsStable())
}

func TestLateCancelFailsItsOperationWithoutHTTPStatus(t *testing.T) {
	w := granted(t, slow(), "n0")
	w.Advance(9 * time.Second)
	op := w.begun(w.cancelRequest("m", "r"))
	w.Advance(2 * time.Second)
	assert.Equal(t, "SUCCEEDED", w.request("m", "r").GetState())
	now := w.operation(op.Name())
	assert.Equal(t, "CONDITION_NOT_MET", now.GetError().GetErrors()[0].GetCode())
	assert.Equal(t, finalStateText, now.GetError().GetErrors()[0].GetMessage())
	assert.Nil(t, now.HttpErrorStatusCode)
	assert.NoError(t, op.Poll(t.Context()), "so Google's client takes it for a success")
}

func TestFinishedRequestIsRemovedAfterFourteenDays(t *testing.T) {
	w := queued(t, Options{AttemptInterval: time.Hour}, "n0")
	w.givenRequest("m", "waits", "n1")
	w.begun(w.cancelRequest("m", "r"))
	w.Advance(14*24*time.Hour - time.Second)
	assert.Equal(t, "CANCELLED", w.request("m", "r").GetState())
	w.Advance(time.Second)
	g, _ := w.State().Group("m")
	require.Len(t, g.Requests, 1)
	assert.Equal(t, "waits", g.Requests[0].Name, "no request expires while it waits")
	assert.Equal(t, 14*24+1, g.Requests[0].Attempts)
}

func TestRequestWaitsForANameInUse(t *testing.T) {
	w := granted(t, slow(), "n0")
	w.givenGroup("new", "us-central1-a")
	w.Advance(time.Minute)
	w.begun(w.deleteInstances("m", "zones/us-central1-a/instances/n0"))
	w.Advance(2 * time.Second)
	w.givenRequest("new", "r", "n0")
	e := w.hindrance("new")
	assert.Equal(t, "RESOURCE_ALREADY_EXISTS", e.GetCode())
	assert.Equal(t, "The resource 'projects/demo/zones/us-central1-a/instances/n0' already exists", e.GetMessage())
	w.Advance(2 * time.Minute)
	assert.Equal(t, "SUCCEEDED", w.request("new", "r").GetState())
}

// counted returns the body of a resize request for a number of unnamed instances.
func counted(name string, count int32) *computepb.InstanceGroupManagerResizeRequest {
	r := namedRequest(name)
	r.ResizeBy = &count
	return r
}

func TestRegionAllowsAHundredActiveRequests(t *testing.T) {
	w := queued(t, Options{}, "n1")
	require.NoError(t, w.SetQuota(testRegion, "ACTIVE_RESIZE_REQUESTS", 2))
	w.givenRequest("m", "r2", "n2")
	op := w.begun(w.insertRequest("m", namedRequest("r3", "n3")))
	e := w.operation(op.Name()).GetError().GetErrors()[0]
	assert.Equal(t, "QUOTA_EXCEEDED", e.GetCode())
	assert.Equal(t, "Quota 'ACTIVE_RESIZE_REQUESTS' exceeded.  Limit: 2.0 in region us-central1.", e.GetMessage())

	w.begun(w.cancelRequest("m", "r"))
	w.givenRequest("m", "r4", "n4")
	assert.Equal(t, "ACCEPTED", w.request("m", "r4").GetState(), "cancelled requests do not count")
}

func TestGroupHoldsAtMostTwoThousandInstances(t *testing.T) {
	w := newWorld(t, Options{})
	w.SetCapacity("", "", 0)
	w.givenGroup("m")
	for i, c := range []struct {
		count   int32
		outcome string
	}{{1000, ""}, {1000, ""}, {1, "LIMIT_EXCEEDED"}, {1001, "INVALID_ARGUMENT"}} {
		op := w.begun(w.insertRequest("m", counted(fmt.Sprintf("r%d", i), c.count)))
		assert.Equal(t, c.outcome, w.outcome(op))
	}
}

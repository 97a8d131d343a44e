package fakegce

import (
	"net/http"
	"testing"
	"time"

	"cloud.google.com/go/compute/apiv1/computepb"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
)

func switched(s Switches) Options {
	o := slow()
	o.Switches = s
	return o
}

func TestTheTargetSizeMayRiseLater(t *testing.T) {
	for at, want := range map[string][3]int32{"": {1, 1, 1}, AtAccepted: {0, 1, 1}, AtSucceeded: {0, 0, 1}} {
		t.Run("at "+at, func(t *testing.T) {
			w := newWorld(t, switched(Switches{TargetSizeAt: at}))
			w.givenGroup("m")
			_, err := w.insertRequest("m", namedRequest("r", "n0"))
			require.NoError(t, err)
			creating := w.group("m").GetTargetSize()
			w.Advance(2 * time.Second)
			accepted := w.group("m").GetTargetSize()
			w.Advance(10 * time.Second)
			assert.Equal(t, want, [3]int32{creating, accepted, w.group("m").GetTargetSize()})
		})
	}
}

func TestACancelledRequestReturnsOnlyWhatItTook(t *testing.T) {
	for _, at := range []string{"", AtAccepted, AtSucceeded} {
		w := newWorld(t, switched(Switches{TargetSizeAt: at}))
		w.givenGroup("m")
		w.givenRequest("m", "got", "n0")
		w.Advance(time.Minute)
		w.SetCapacity("", "", 0)
		w.givenRequest("m", "waits", "n1")
		_, err := w.cancelRequest("m", "waits")
		require.NoError(t, err)
		w.Advance(2 * time.Second)
		assert.EqualValues(t, 1, w.group("m").GetTargetSize(), "raised at %q", at)
	}
}

func TestAnEndedLeaseMayLeaveTheTargetSize(t *testing.T) {
	w := newWorld(t, switched(Switches{ExpiryKeepsTargetSize: true}))
	w.givenGroup("m")
	w.givenRequest("m", "r", "n0")
	w.Advance(2 * time.Hour)
	assert.Empty(t, w.State().Instances)
	assert.Empty(t, w.members("m"))
	assert.EqualValues(t, 1, w.group("m").GetTargetSize())
}

func TestALostInstanceMayLeaveItsGroup(t *testing.T) {
	w := newWorld(t, switched(Switches{LostInstancesLeave: true}))
	w.givenGroup("m")
	w.givenRequest("m", "r", "n0")
	w.Advance(time.Minute)
	require.NoError(t, w.DeleteVM("n0"))
	assert.Empty(t, w.members("m"))
	assert.Zero(t, w.group("m").GetTargetSize())
}

func TestDeletingQueuedInstancesMayCancelTheirRequest(t *testing.T) {
	w := newWorld(t, switched(Switches{QueuedDeletable: true}))
	w.SetCapacity("", "", 0)
	w.givenGroup("m", "us-central1-a")
	w.givenRequest("m", "r", "n0")
	op, err := w.deleteInstances("m", "n0")
	require.NoError(t, err)
	w.Advance(2 * time.Second)
	assert.Empty(t, w.outcome(op))
	assert.Equal(t, "CANCELLED", w.request("m", "r").GetState())
	assert.Zero(t, w.group("m").GetTargetSize())

	w.givenRequest("m", "s", "n1")
	op, err = w.deleteInstances("m", "n1", "zones/us-central1-a/instances/n1")
	require.NoError(t, err)
	w.Advance(2 * time.Second)
	assert.Equal(t, "INVALID_ARGUMENT", w.outcome(op), "URLs and names do not mix")
}

func TestARequestMayBeCancelledWhileCreating(t *testing.T) {
	w := newWorld(t, switched(Switches{CancelWhileCreating: true}))
	w.givenGroup("m")
	_, err := w.insertRequest("m", namedRequest("r", "n0"))
	require.NoError(t, err)
	op, err := w.cancelRequest("m", "r")
	require.NoError(t, err)
	w.Advance(2 * time.Second)
	assert.Empty(t, w.outcome(op))
	assert.Equal(t, "CANCELLED", w.request("m", "r").GetState())
}

func TestRefusalsMayComeLate(t *testing.T) {
	w := newWorld(t, switched(Switches{LateRefusals: true, RequestErrorStatus: true}))
	w.SetCapacity("", "", 0)
	w.givenGroup("m")
	w.givenRequest("m", "r", "n0")
	op, err := w.deleteRequest("m", "r")
	require.NoError(t, err)
	duplicate, err := w.insertRequest("m", namedRequest("r", "n1"))
	require.NoError(t, err)
	resized, err := w.groups.Resize(t.Context(), &computepb.ResizeRegionInstanceGroupManagerRequest{
		Project: testProject, Region: testRegion, InstanceGroupManager: "m", Size: 0,
	})
	require.NoError(t, err)
	w.Advance(2 * time.Second)
	assert.Equal(t, "CONDITION_NOT_MET", w.outcome(op))
	assert.EqualValues(t, http.StatusPreconditionFailed, w.operation(op.Name()).GetHttpErrorStatusCode())
	assert.Error(t, op.Poll(t.Context()), "with a status Google's client sees the error")
	assert.Equal(t, "RESOURCE_ALREADY_EXISTS", w.outcome(duplicate))
	assert.Equal(t, "CONDITION_NOT_MET", w.outcome(resized))
	assert.Equal(t, "ACCEPTED", w.request("m", "r").GetState(), "untouched")
}

func TestARefusedRequestMayBeForgotten(t *testing.T) {
	w := newWorld(t, switched(Switches{ForgetRefused: true}))
	w.givenGroup("m")
	r := namedRequest("r", "n0")
	r.RequestedRunDuration = &computepb.Duration{Seconds: proto.Int64(1)}
	op, err := w.insertRequest("m", r)
	require.NoError(t, err)
	w.Advance(2 * time.Second)
	assert.Equal(t, "INVALID_ARGUMENT", w.outcome(op))
	g, _ := w.State().Group("m")
	assert.Empty(t, g.Requests)
	assert.Empty(t, g.Members)
}

func TestOperationsMayHaveZonalTypesAndNoClientID(t *testing.T) {
	w := newWorld(t, switched(Switches{ZonalOperationTypes: true, NoClientOperationID: true}))
	w.givenGroup("m")
	op, err := w.insertRequest("m", namedRequest("r", "n0"))
	require.NoError(t, err)
	assert.Equal(t, "compute.instanceGroupManagerResizeRequests.insert", op.Proto().GetOperationType())
	assert.Nil(t, op.Proto().ClientOperationId)
}

func TestAnInstanceMayHaveNoActionOnceItIsCreated(t *testing.T) {
	w := newWorld(t, switched(Switches{NoActionOnceCreated: true}))
	w.givenGroup("m")
	w.givenRequest("m", "r", "n0")
	assert.Equal(t, "CREATING", w.members("m")["n0"].GetCurrentAction())
	w.Advance(10 * time.Second)
	m := w.members("m")["n0"]
	assert.Equal(t, "STAGING", m.GetInstanceStatus())
	assert.Equal(t, "NONE", m.GetCurrentAction())
}

func TestInstancesMaySkipStaging(t *testing.T) {
	w := newWorld(t, switched(Switches{NoStaging: true}))
	w.givenGroup("m")
	w.givenRequest("m", "r", "n0")
	w.Advance(10 * time.Second)
	v, _ := w.State().Instance("n0")
	assert.Equal(t, "PROVISIONING", v.Status)
	w.Advance(10 * time.Second)
	v, _ = w.State().Instance("n0")
	assert.Equal(t, "RUNNING", v.Status)
}

func TestTheTemplatesLeaseMayWin(t *testing.T) {
	w := newWorld(t, Options{Switches: Switches{TemplateDuration: true}})
	w.givenGroup("m")
	w.givenRequest("m", "r", "n0")
	v, _ := w.State().Instance("n0")
	assert.Equal(t, 7*24*time.Hour, v.Terminates.Sub(v.Created))
}

func TestAWorkloadPolicyMayBeRefused(t *testing.T) {
	for refused, want := range map[bool]string{false: "", true: "UNSUPPORTED_OPERATION"} {
		w := newWorld(t, Options{Switches: Switches{RefuseWorkloadPolicy: refused}})
		post(t, &http.Client{Transport: w.Transport()}, "regions/us-central1/resourcePolicies", `{"name":"wp","workloadPolicy":{"type":"HIGH_THROUGHPUT"}}`)
		g := flexGroup("m")
		g.ResourcePolicies = &computepb.InstanceGroupManagerResourcePolicies{WorkloadPolicy: proto.String("projects/demo/regions/us-central1/resourcePolicies/wp")}
		_, err := w.insertGroup(g)
		require.NoError(t, err)
		op, err := w.insertRequest("m", namedRequest("r", "n0"))
		require.NoError(t, err)
		assert.Equal(t, want, w.outcome(op))
	}
}

func TestANameConflictMayFailTheRequest(t *testing.T) {
	w := newWorld(t, Options{Switches: Switches{NameConflictFails: true}})
	w.givenGroup("old", "us-central1-a")
	w.givenGroup("new", "us-central1-a")
	w.givenRequest("old", "r", "n0")
	w.givenRequest("new", "r", "n0")
	assert.Equal(t, "FAILED", w.request("new", "r").GetState())
}

func TestAGroupMayHaveOneActiveRequestOnly(t *testing.T) {
	w := newWorld(t, Options{Switches: Switches{RequestsPerGroup: 1}})
	w.SetCapacity("", "", 0)
	w.givenGroup("m")
	w.givenRequest("m", "r", "n0")
	op, err := w.insertRequest("m", namedRequest("s", "n1"))
	require.NoError(t, err)
	assert.Equal(t, "LIMIT_EXCEEDED", w.outcome(op))
}

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
			w.begun(w.insertRequest("m", namedRequest("r", "n0")))
			creating := w.group("m").GetTargetSize()
			w.Advance(2 * time.Second)
			accepted := w.group("m").GetTargetSize()
			w.Advance(10 * time.Second)
			assert.Equal(t, want, [3]int32{creating, accepted, w.group("m").GetTargetSize()})
		})
	}
}

func TestACancelledRequestGivesBackOnlyWhatItTook(t *testing.T) {
	for _, at := range []string{"", AtAccepted, AtSucceeded} {
		w := granted(t, switched(Switches{TargetSizeAt: at}), "n0")
		w.Advance(time.Minute)
		w.SetCapacity("", "", 0)
		w.givenRequest("m", "waits", "n1")
		w.begun(w.cancelRequest("m", "waits"))
		w.Advance(2 * time.Second)
		w.shows("size 1; r SUCCEEDED; waits CANCELLED; n0 NONE RUNNING")
	}
}

func TestAnEndedLeaseMayLeaveTheTargetSize(t *testing.T) {
	w := granted(t, switched(Switches{ExpiryKeepsTargetSize: true}), "n0")
	w.Advance(2 * time.Hour)
	w.shows("size 1; r SUCCEEDED")
	w.vms("")
}

func TestALostInstanceMayLeaveItsGroup(t *testing.T) {
	w := granted(t, switched(Switches{LostInstancesLeave: true}), "n0")
	w.Advance(time.Minute)
	require.NoError(t, w.DeleteVM("n0"))
	w.shows("size 0; r SUCCEEDED")
}

func TestDeletingQueuedInstancesMayCancelTheirRequest(t *testing.T) {
	w := waiting(t, switched(Switches{QueuedDeletable: true}), "n0")
	op := w.begun(w.deleteInstances("m", "n0"))
	w.Advance(2 * time.Second)
	assert.Empty(t, w.outcome(op))
	w.shows("size 0; r CANCELLED")

	w.givenRequest("m", "s", "n1")
	op = w.begun(w.deleteInstances("m", "n1", "zones/us-central1-a/instances/n1"))
	w.Advance(2 * time.Second)
	assert.Equal(t, "INVALID_ARGUMENT", w.outcome(op), "URLs and names do not mix")
}

func TestARequestMayBeCancelledWhileCreating(t *testing.T) {
	w := newWorld(t, switched(Switches{CancelWhileCreating: true}))
	w.givenGroup("m")
	w.begun(w.insertRequest("m", namedRequest("r", "n0")))
	w.begun(w.cancelRequest("m", "r"))
	w.Advance(2 * time.Second)
	w.shows("size 0; r CANCELLED")
}

func TestRefusalsMayComeLate(t *testing.T) {
	w := waiting(t, switched(Switches{LateRefusals: true, RequestErrorStatus: true}), "n0")
	op := w.begun(w.deleteRequest("m", "r"))
	duplicate := w.begun(w.insertRequest("m", namedRequest("r", "n1")))
	w.Advance(2 * time.Second)
	assert.Equal(t, "CONDITION_NOT_MET", w.outcome(op))
	assert.EqualValues(t, http.StatusPreconditionFailed, w.operation(op.Name()).GetHttpErrorStatusCode())
	assert.Error(t, op.Poll(t.Context()), "with a status Google's client sees the error")
	assert.Equal(t, "RESOURCE_ALREADY_EXISTS", w.outcome(duplicate))
	w.shows("size 1; r ACCEPTED; n0 CREATING")
}

func TestARefusedRequestMayBeForgotten(t *testing.T) {
	w := newWorld(t, switched(Switches{ForgetRefused: true}))
	w.givenGroup("m")
	r := namedRequest("r", "n0")
	r.RequestedRunDuration = &computepb.Duration{Seconds: proto.Int64(1)}
	op := w.begun(w.insertRequest("m", r))
	w.Advance(2 * time.Second)
	assert.Equal(t, "INVALID_ARGUMENT", w.outcome(op))
	w.shows("size 0")
}

func TestOperationsMayHaveZonalTypesAndNoClientID(t *testing.T) {
	w := newWorld(t, switched(Switches{ZonalOperationTypes: true, NoClientOperationID: true}))
	w.givenGroup("m")
	op := w.begun(w.insertRequest("m", namedRequest("r", "n0")))
	assert.Equal(t, "compute.instanceGroupManagerResizeRequests.insert", op.Proto().GetOperationType())
	assert.Nil(t, op.Proto().ClientOperationId)
}

func TestAnInstanceMayHaveNoActionOnceItIsCreated(t *testing.T) {
	w := granted(t, switched(Switches{NoActionOnceCreated: true}), "n0")
	w.shows("size 1; r ACCEPTED; n0 CREATING PROVISIONING")
	w.Advance(10 * time.Second)
	w.shows("size 1; r SUCCEEDED; n0 NONE STAGING")
}

func TestInstancesMaySkipStaging(t *testing.T) {
	w := granted(t, switched(Switches{NoStaging: true}), "n0")
	w.Advance(10 * time.Second)
	w.vms("n0 PROVISIONING")
	w.Advance(10 * time.Second)
	w.vms("n0 RUNNING")
}

func TestTheTemplatesLeaseMayWin(t *testing.T) {
	w := granted(t, Options{Switches: Switches{TemplateDuration: true}}, "n0")
	v, _ := w.State().Instance("n0")
	assert.Equal(t, 7*24*time.Hour, v.Terminates.Sub(v.Created))
}

func TestAWorkloadPolicyMayBeRefused(t *testing.T) {
	for refused, want := range map[bool]string{false: "", true: "UNSUPPORTED_OPERATION"} {
		w := newWorld(t, Options{Switches: Switches{RefuseWorkloadPolicy: refused}})
		post(t, &http.Client{Transport: w.Transport()}, "regions/us-central1/resourcePolicies", `{"name":"wp","workloadPolicy":{"type":"HIGH_THROUGHPUT"}}`)
		g := flexGroup("m")
		g.ResourcePolicies = &computepb.InstanceGroupManagerResourcePolicies{WorkloadPolicy: proto.String("projects/demo/regions/us-central1/resourcePolicies/wp")}
		w.begun(w.insertGroup(g))
		op := w.begun(w.insertRequest("m", namedRequest("r", "n0")))
		assert.Equal(t, want, w.outcome(op))
	}
}

func TestANameConflictMayFailTheRequest(t *testing.T) {
	w := granted(t, Options{Switches: Switches{NameConflictFails: true}}, "n0")
	w.givenGroup("new", "us-central1-a")
	w.givenRequest("new", "r", "n0")
	assert.Equal(t, "FAILED", w.request("new", "r").GetState())
}

func TestAGroupMayHaveOneActiveRequestOnly(t *testing.T) {
	w := waiting(t, Options{Switches: Switches{RequestsPerGroup: 1}}, "n0")
	op := w.begun(w.insertRequest("m", namedRequest("s", "n1")))
	assert.Equal(t, "LIMIT_EXCEEDED", w.outcome(op))
}

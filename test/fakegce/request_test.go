package fakegce

import (
	"testing"
	"time"

	"cloud.google.com/go/compute/apiv1/computepb"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
)

// slow is a world where each thing takes a time of its own, to be told apart.
func slow() Options {
	return Options{
		OperationTime: 2 * time.Second, BootTime: 20 * time.Second, DeleteTime: 10 * time.Second, AttemptInterval: time.Minute,
	}
}

func TestARequestIsCreatingUntilItsOperationEndsThenAccepted(t *testing.T) {
	w := newWorld(t, slow())
	w.SetCapacity("", "", 0)
	w.givenGroup("m")
	op, err := w.insertRequest("m", namedRequest("r", "n0", "n1"))
	require.NoError(t, err)

	first := op.Proto()
	assert.Equal(t, computepb.Operation_RUNNING, first.GetStatus())
	assert.Equal(t, "compute.regionInstanceGroupManagerResizeRequests.insert", first.GetOperationType())
	assert.Regexp(t, `^operation-\d{13}-[0-9a-f]{13}-[0-9a-f]{8}-[0-9a-f]{8}$`, first.GetName())
	assert.NotNil(t, first.Progress)
	assert.Contains(t, first.GetTargetLink(), "regions/us-central1/instanceGroupManagers/m/resizeRequests/r")
	r := w.request("m", "r")
	assert.Equal(t, "CREATING", r.GetState())
	assert.NotNil(t, r.Status, "status is always there")
	assert.EqualValues(t, 2, w.group("m").GetTargetSize(), "raised at receipt")
	for _, m := range w.members("m") {
		assert.Equal(t, "CREATING", m.GetCurrentAction())
		assert.Nil(t, m.Id)
		assert.Nil(t, m.InstanceStatus)
	}

	w.Advance(2 * time.Second)
	assert.Equal(t, "ACCEPTED", w.request("m", "r").GetState())
	assert.Empty(t, w.outcome(op))
	assert.EqualValues(t, 2, w.group("m").GetTargetSize(), "raised once")
}

func TestAStockedOutRequestStaysAcceptedAndSaysWhyUntilThereIsRoom(t *testing.T) {
	w := newWorld(t, slow())
	w.SetCapacity("", testMachine, 1)
	w.givenGroup("m", "us-central1-a", "us-central1-c")
	w.givenRequest("m", "r", "n0", "n1")

	r := w.request("m", "r")
	assert.Equal(t, "ACCEPTED", r.GetState())
	problem := r.GetStatus().GetLastAttempt().GetError().GetErrors()[0]
	assert.Equal(t, "ZONE_RESOURCE_POOL_EXHAUSTED_WITH_DETAILS", problem.GetCode())
	assert.Equal(t, "resource_availability", problem.GetErrorDetails()[0].GetErrorInfo().GetReason())
	assert.Equal(t, "ZONE_RESOURCE_POOL_EXHAUSTED_WITH_DETAILS", w.members("m")["n0"].GetLastAttempt().GetErrors().GetErrors()[0].GetCode())

	require.NoError(t, w.RaiseCapacity("us-central1-c", testMachine, 1))
	w.Advance(30 * time.Second)
	assert.Empty(t, w.State().Instances, "the next attempt is not yet")
	w.Advance(40 * time.Second)
	found, err := w.list(t.Context(), "")
	require.NoError(t, err)
	assert.Equal(t, map[string][]string{"zones/us-central1-c": {"n0", "n1"}}, found, "all in the one zone that takes all")
	assert.Equal(t, "SUCCEEDED", w.request("m", "r").GetState())
	assert.Nil(t, w.request("m", "r").GetStatus().GetLastAttempt(), "cleared")
	assert.EqualValues(t, 2, w.group("m").GetTargetSize(), "unchanged by success")
}

func TestARequestIsAcceptedUntilTheLastVMExists(t *testing.T) {
	w := newWorld(t, slow())
	w.givenGroup("m")
	w.givenRequest("m", "r", "n0")

	assert.Equal(t, "ACCEPTED", w.request("m", "r").GetState())
	assert.Equal(t, "PROVISIONING", w.members("m")["n0"].GetInstanceStatus())
	w.Advance(10 * time.Second)
	assert.Equal(t, "SUCCEEDED", w.request("m", "r").GetState())
	m := w.members("m")["n0"]
	assert.Equal(t, "STAGING", m.GetInstanceStatus())
	assert.Equal(t, "CREATING", m.GetCurrentAction())
	assert.EqualValues(t, 1, w.group("m").GetCurrentActions().GetCreating())
	assert.False(t, w.group("m").GetStatus().GetIsStable())
	w.Advance(10 * time.Second)
	m = w.members("m")["n0"]
	assert.Equal(t, "RUNNING", m.GetInstanceStatus())
	assert.Equal(t, "NONE", m.GetCurrentAction())
	assert.True(t, w.group("m").GetStatus().GetIsStable())
}

func TestAQuotaShortageIsAWaitNotAFailure(t *testing.T) {
	w := newWorld(t, slow())
	w.SetQuota(testRegion, "PREEMPTIBLE_NVIDIA_H100_GPUS", 8)
	w.givenGroup("m")
	w.givenRequest("m", "r", "n0", "n1")

	r := w.request("m", "r")
	assert.Equal(t, "ACCEPTED", r.GetState())
	e := r.GetStatus().GetLastAttempt().GetError().GetErrors()[0]
	assert.Equal(t, "QUOTA_EXCEEDED", e.GetCode())
	assert.Equal(t, "Quota 'PREEMPTIBLE_NVIDIA_H100_GPUS' exceeded.  Limit: 8.0 in region us-central1.", e.GetMessage())
	assert.InDelta(t, 8, e.GetErrorDetails()[0].GetQuotaInfo().GetLimit(), 0)

	w.SetQuota(testRegion, "PREEMPTIBLE_NVIDIA_H100_GPUS", 16)
	w.Advance(80 * time.Second)
	assert.Equal(t, "SUCCEEDED", w.request("m", "r").GetState())
}

func TestAFailedRequestKeepsItsErrorAndReturnsWhatItHad(t *testing.T) {
	w := newWorld(t, slow())
	w.givenGroup("m")
	w.givenRequest("m", "r", "n0", "n1")
	require.Len(t, w.State().Instances, 2, "being created")

	require.NoError(t, w.FailRequest("m", "r", "IP_SPACE_EXHAUSTED", "no addresses"))
	r := w.request("m", "r")
	assert.Equal(t, "FAILED", r.GetState())
	assert.Equal(t, "IP_SPACE_EXHAUSTED", r.GetStatus().GetError().GetErrors()[0].GetCode())
	assert.Zero(t, w.group("m").GetTargetSize())
	w.Advance(time.Hour)
	assert.Equal(t, "FAILED", w.request("m", "r").GetState(), "for good")
	assert.Empty(t, w.State().Instances, "rolled back")
	assert.Empty(t, w.members("m"))
	assert.Error(t, w.FailRequest("m", "r", "X", ""), "it is not accepted any more")
}

func TestACancelledRequestTakesItsInstancesWithIt(t *testing.T) {
	w := newWorld(t, slow())
	w.SetCapacity("", "", 0)
	w.givenGroup("m")
	w.givenRequest("m", "r", "n0", "n1")
	op, err := w.cancelRequest("m", "r")
	require.NoError(t, err)
	assert.Equal(t, "ACCEPTED", w.request("m", "r").GetState(), "until the operation ends")

	w.Advance(2 * time.Second)
	assert.Empty(t, w.outcome(op))
	assert.Equal(t, "CANCELLED", w.request("m", "r").GetState())
	assert.Zero(t, w.group("m").GetTargetSize())
	assert.Empty(t, w.members("m"))
	w.SetCapacity("", "", -1)
	w.Advance(time.Hour)
	assert.Empty(t, w.State().Instances, "it does not come back")
}

func TestACancelThatLosesTheRaceEndsInAnOperationErrorWithoutStatus(t *testing.T) {
	w := newWorld(t, slow())
	w.givenGroup("m")
	w.givenRequest("m", "r", "n0")
	w.Advance(9 * time.Second)
	op, err := w.cancelRequest("m", "r")
	require.NoError(t, err, "HTTP 200")

	w.Advance(2 * time.Second)
	assert.Equal(t, "SUCCEEDED", w.request("m", "r").GetState())
	now := w.operation(op.Name())
	assert.Equal(t, "CONDITION_NOT_MET", now.GetError().GetErrors()[0].GetCode())
	assert.Equal(t, finalStateText, now.GetError().GetErrors()[0].GetMessage())
	assert.Nil(t, now.HttpErrorStatusCode)
	assert.NoError(t, op.Poll(t.Context()), "so Google's client takes it for a success")
}

func TestTheLastAttemptIsForgottenWhenARequestEnds(t *testing.T) {
	for end, act := range map[string]func(w *world){
		"FAILED": func(w *world) { require.NoError(w.t, w.FailRequest("m", "r", "LIMIT_EXCEEDED", "too late")) },
		"CANCELLED": func(w *world) {
			_, err := w.cancelRequest("m", "r")
			require.NoError(w.t, err)
		},
	} {
		t.Run(end, func(t *testing.T) {
			w := newWorld(t, Options{})
			w.SetCapacity("", "", 0)
			w.givenGroup("m")
			w.givenRequest("m", "r", "n0")
			require.NotNil(t, w.request("m", "r").GetStatus().GetLastAttempt())
			act(w)
			r := w.request("m", "r")
			assert.Equal(t, end, r.GetState())
			assert.Nil(t, r.GetStatus().GetLastAttempt())
		})
	}
}

func TestADeletedRequestLeavesItsVMs(t *testing.T) {
	w := newWorld(t, Options{})
	w.givenGroup("m")
	w.givenRequest("m", "r", "n0")
	_, err := w.deleteRequest("m", "r")
	require.NoError(t, err)

	g, _ := w.State().Group("m")
	assert.Empty(t, g.Requests)
	assert.Equal(t, []Member{{Name: "n0", Action: "NONE", Status: "RUNNING", Request: "r"}}, g.Members)
}

func TestARequestInAFinalStateIsForgottenAfterFourteenDays(t *testing.T) {
	w := newWorld(t, Options{AttemptInterval: time.Hour})
	w.SetCapacity("", "", 0)
	w.givenGroup("m")
	w.givenRequest("m", "ends", "n0")
	w.givenRequest("m", "waits", "n1")
	_, err := w.cancelRequest("m", "ends")
	require.NoError(t, err)

	w.Advance(14*24*time.Hour - time.Second)
	assert.Equal(t, "CANCELLED", w.request("m", "ends").GetState())
	w.Advance(time.Second)
	g, _ := w.State().Group("m")
	require.Len(t, g.Requests, 1)
	assert.Equal(t, "waits", g.Requests[0].Name, "no request expires while it waits")
	assert.Equal(t, 14*24+1, g.Requests[0].Attempts)
}

func TestAVMLostWhileItIsCreatedFailsItsRequest(t *testing.T) {
	w := newWorld(t, slow())
	w.givenGroup("m")
	w.givenRequest("m", "r", "n0", "n1")
	require.NoError(t, w.DeleteVM("n0"))

	assert.Equal(t, "FAILED", w.request("m", "r").GetState())
	w.Advance(time.Minute)
	assert.Empty(t, w.State().Instances)
	assert.Zero(t, w.group("m").GetTargetSize())
}

func TestANameThatAnotherVMHoldsIsWaitedForUntilItIsGone(t *testing.T) {
	w := newWorld(t, slow())
	w.givenGroup("old", "us-central1-a")
	w.givenGroup("new", "us-central1-a")
	w.givenRequest("old", "r", "n0")
	w.Advance(time.Minute)
	_, err := w.deleteInstances("old", "zones/us-central1-a/instances/n0")
	require.NoError(t, err)
	w.Advance(2 * time.Second)
	w.givenRequest("new", "r", "n0")

	e := w.request("new", "r").GetStatus().GetLastAttempt().GetError().GetErrors()[0]
	assert.Equal(t, "RESOURCE_ALREADY_EXISTS", e.GetCode())
	assert.Equal(t, "The resource 'projects/demo/zones/us-central1-a/instances/n0' already exists", e.GetMessage())
	w.Advance(2 * time.Minute)
	assert.Equal(t, "SUCCEEDED", w.request("new", "r").GetState())
}

func TestARequestWithACountNamesItsInstancesAfterTheGroup(t *testing.T) {
	w := newWorld(t, Options{})
	w.givenGroup("m")
	_, err := w.insertRequest("m", &computepb.InstanceGroupManagerResizeRequest{
		Name: proto.String("r"), ResizeBy: proto.Int32(3), RequestedRunDuration: &computepb.Duration{Seconds: proto.Int64(600)},
	})
	require.NoError(t, err)
	assert.Len(t, w.members("m"), 3)
	for name, m := range w.members("m") {
		assert.Regexp(t, `^m-[0-9a-f]{4}$`, name)
		assert.Equal(t, "RUNNING", m.GetInstanceStatus())
	}
}

func TestARequestThatCannotBeGrantedFailsWithItsOperation(t *testing.T) {
	hour := &computepb.Duration{Seconds: proto.Int64(3600)}
	edited := func(edit func(*computepb.InstanceGroupManager)) *computepb.InstanceGroupManager {
		g := flexGroup("m")
		edit(g)
		return g
	}
	plain := flexGroup("m")
	for _, c := range []struct {
		name    string
		group   *computepb.InstanceGroupManager
		run     *computepb.Duration
		code    string
		message string
	}{
		{"too short a lease", plain, &computepb.Duration{Seconds: proto.Int64(599)}, "INVALID_ARGUMENT", "Specified maxRunDuration is too short. Minimum value is equal to 10 minutes."},
		{"too long a lease", plain, &computepb.Duration{Seconds: proto.Int64(604801)}, "INVALID_ARGUMENT", "too long"},
		{"a template that is not flex-start", withTemplate("standard"), hour, "INVALID_ARGUMENT", "provisioningModel FLEX_START"},
		{"a template that stops its VMs", withTemplate("stops"), hour, "INVALID_ARGUMENT", "instanceTerminationAction DELETE"},
		{"a template that migrates", withTemplate("migrates"), hour, "INVALID_ARGUMENT", "onHostMaintenance TERMINATE"},
		{"a template that uses reservations", withTemplate("reserved"), hour, "INVALID_ARGUMENT", "NO_RESERVATION"},
		{"a template without a lease", withTemplate("endless"), hour, "INVALID_ARGUMENT", "maxRunDuration"},
		{"a template with a placement policy", withTemplate("placed"), hour, "UNSUPPORTED_OPERATION", "Creating queued resource with resource policies is not supported."},
		{"a machine type that is not there", withTemplate("unknown"), hour, "INVALID_MACHINE_TYPE", "does not exist"},
		{"a GPU that does not go with the machine", withTemplate("odd"), hour, "INVALID_GPU_TYPE", "nvidia-tesla-t4"},
		{"no accelerators", withTemplate("cpu"), hour, "UNSUPPORTED_OPERATION", "Requests without accelerators are not supported."},
		{"a machine that resize requests do not bring", withTemplate("a4x"), hour, "UNSUPPORTED_OPERATION", "a4x-highgpu-4g"},
		{"a group over several zones", edited(func(g *computepb.InstanceGroupManager) { g.DistributionPolicy.TargetShape = proto.String("EVEN") }), hour, "UNSUPPORTED_OPERATION", "ANY_SINGLE_ZONE"},
		{"a group that redistributes", edited(func(g *computepb.InstanceGroupManager) {
			g.UpdatePolicy.InstanceRedistributionType = proto.String("PROACTIVE")
		}), hour, "UNSUPPORTED_OPERATION", "NONE"},
		{"a group that repairs", edited(func(g *computepb.InstanceGroupManager) { g.InstanceLifecyclePolicy = nil }), hour, "UNSUPPORTED_OPERATION", "DO_NOTHING"},
		{"a group with a flexibility policy", edited(func(g *computepb.InstanceGroupManager) {
			g.InstanceFlexibilityPolicy = &computepb.InstanceGroupManagerInstanceFlexibilityPolicy{}
		}), hour, "UNSUPPORTED_OPERATION", "flexibility"},
		{"a group that rolls", edited(func(g *computepb.InstanceGroupManager) { g.UpdatePolicy.Type = proto.String("PROACTIVE") }), hour, "UNSUPPORTED_OPERATION", "OPPORTUNISTIC"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, Options{})
			givenTemplates(t, w)
			_, err := w.insertGroup(c.group)
			require.NoError(t, err)
			r := namedRequest("r", "n0")
			r.RequestedRunDuration = c.run
			op, err := w.insertRequest("m", r)
			require.NoError(t, err)

			e := w.operation(op.Name()).GetError().GetErrors()
			require.Len(t, e, 1)
			assert.Equal(t, c.code, e[0].GetCode())
			assert.Contains(t, e[0].GetMessage(), c.message)
			assert.Equal(t, "FAILED", w.request("m", "r").GetState())
			assert.Equal(t, c.code, w.request("m", "r").GetStatus().GetError().GetErrors()[0].GetCode())
			assert.Zero(t, w.group("m").GetTargetSize())
			assert.Empty(t, w.members("m"))
		})
	}
}

func TestTheTemplatesLeaseServesARequestThatNamesNone(t *testing.T) {
	w := newWorld(t, Options{})
	w.givenGroup("m")
	r := namedRequest("r", "n0")
	r.RequestedRunDuration = nil
	_, err := w.insertRequest("m", r)
	require.NoError(t, err)
	v, _ := w.State().Instance("n0")
	assert.Equal(t, 7*24*time.Hour, v.Terminates.Sub(v.Created))
}

func TestTheHundredAndFirstActiveRequestOfARegionExceedsItsQuota(t *testing.T) {
	w := newWorld(t, Options{})
	w.SetCapacity("", "", 0)
	w.SetQuota(testRegion, "ACTIVE_RESIZE_REQUESTS", 2)
	w.givenGroup("m")
	w.givenRequest("m", "r1", "n1")
	w.givenRequest("m", "r2", "n2")
	op, err := w.insertRequest("m", namedRequest("r3", "n3"))
	require.NoError(t, err)
	e := w.operation(op.Name()).GetError().GetErrors()[0]
	assert.Equal(t, "QUOTA_EXCEEDED", e.GetCode())
	assert.Equal(t, "Quota 'ACTIVE_RESIZE_REQUESTS' exceeded.  Limit: 2.0 in region us-central1.", e.GetMessage())

	_, err = w.cancelRequest("m", "r1")
	require.NoError(t, err)
	w.givenRequest("m", "r4", "n4")
	assert.Equal(t, "ACCEPTED", w.request("m", "r4").GetState(), "cancelled requests do not count")
}

func TestAGroupHoldsTwoThousandInstances(t *testing.T) {
	w := newWorld(t, Options{})
	w.SetCapacity("", "", 0)
	w.givenGroup("m")
	for _, name := range []string{"r1", "r2"} {
		op, err := w.insertRequest("m", &computepb.InstanceGroupManagerResizeRequest{Name: proto.String(name), ResizeBy: proto.Int32(1000)})
		require.NoError(t, err)
		assert.Empty(t, w.outcome(op))
	}
	op, err := w.insertRequest("m", namedRequest("r3", "n0"))
	require.NoError(t, err)
	assert.Equal(t, "LIMIT_EXCEEDED", w.outcome(op))
	op, err = w.insertRequest("m", &computepb.InstanceGroupManagerResizeRequest{Name: proto.String("r4"), ResizeBy: proto.Int32(1001)})
	require.NoError(t, err)
	assert.Equal(t, "INVALID_ARGUMENT", w.outcome(op))
}

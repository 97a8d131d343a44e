package fakegce

import (
	"fmt"
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
	op := w.begun(w.insertRequest("m", namedRequest("r", "n0", "n1")))
	first := op.Proto()
	assert.Equal(t, computepb.Operation_RUNNING, first.GetStatus())
	assert.Equal(t, "compute.regionInstanceGroupManagerResizeRequests.insert", first.GetOperationType())
	assert.Regexp(t, `^operation-\d{13}-[0-9a-f]{13}-[0-9a-f]{8}-[0-9a-f]{8}$`, first.GetName())
	assert.NotNil(t, first.Progress)
	assert.Contains(t, first.GetTargetLink(), "regions/us-central1/instanceGroupManagers/m/resizeRequests/r")
	assert.NotNil(t, w.request("m", "r").Status, "status is always there")
	assert.Nil(t, w.members("m")["n0"].Id)
	w.shows("size 2; r CREATING; n0 CREATING; n1 CREATING")
	w.Advance(2 * time.Second)
	w.shows("size 2; r ACCEPTED; n0 CREATING; n1 CREATING")
	assert.Empty(t, w.outcome(op))
}

func TestAStockedOutRequestStaysAcceptedAndSaysWhyUntilThereIsRoom(t *testing.T) {
	w := newWorld(t, slow())
	w.SetCapacity("", testMachine, 1)
	w.givenGroup("m", "us-central1-a", "us-central1-c")
	w.givenRequest("m", "r", "n0", "n1")
	problem := w.request("m", "r").GetStatus().GetLastAttempt().GetError().GetErrors()[0]
	assert.Equal(t, "ZONE_RESOURCE_POOL_EXHAUSTED_WITH_DETAILS", problem.GetCode())
	assert.Equal(t, "resource_availability", problem.GetErrorDetails()[0].GetErrorInfo().GetReason())
	assert.Equal(t, problem.GetCode(), w.members("m")["n0"].GetLastAttempt().GetErrors().GetErrors()[0].GetCode())

	w.SetCapacity("us-central1-c", testMachine, 2)
	w.Advance(30 * time.Second)
	w.vms("") // the next attempt is not yet
	w.Advance(40 * time.Second)
	w.shows("size 2; r SUCCEEDED; n0 CREATING STAGING; n1 CREATING STAGING")
	found, err := w.list(t.Context(), "")
	require.NoError(t, err)
	assert.Equal(t, map[string][]string{"zones/us-central1-c": {"n0", "n1"}}, found, "all in the one zone that takes all")
	assert.Nil(t, w.request("m", "r").GetStatus().GetLastAttempt(), "cleared")
}

func TestARequestIsAcceptedUntilTheLastVMExists(t *testing.T) {
	w := granted(t, slow(), "n0")
	w.shows("size 1; r ACCEPTED; n0 CREATING PROVISIONING")
	w.Advance(10 * time.Second)
	w.shows("size 1; r SUCCEEDED; n0 CREATING STAGING")
	assert.EqualValues(t, 1, w.group("m").GetCurrentActions().GetCreating())
	assert.False(t, w.group("m").GetStatus().GetIsStable())
	w.Advance(10 * time.Second)
	w.shows("size 1; r SUCCEEDED; n0 NONE RUNNING")
	assert.True(t, w.group("m").GetStatus().GetIsStable())
}

func TestAQuotaShortageIsAWaitNotAFailure(t *testing.T) {
	w := newWorld(t, slow())
	w.SetQuota(testRegion, "PREEMPTIBLE_NVIDIA_H100_GPUS", 8)
	w.givenGroup("m")
	w.givenRequest("m", "r", "n0", "n1")
	w.shows("size 2; r ACCEPTED; n0 CREATING; n1 CREATING")
	e := w.request("m", "r").GetStatus().GetLastAttempt().GetError().GetErrors()[0]
	assert.Equal(t, "QUOTA_EXCEEDED", e.GetCode())
	assert.Equal(t, "Quota 'PREEMPTIBLE_NVIDIA_H100_GPUS' exceeded.  Limit: 8.0 in region us-central1.", e.GetMessage())
	assert.InDelta(t, 8, e.GetErrorDetails()[0].GetQuotaInfo().GetLimit(), 0)

	w.SetQuota(testRegion, "PREEMPTIBLE_NVIDIA_H100_GPUS", 16)
	w.Advance(80 * time.Second)
	w.shows("size 2; r SUCCEEDED; n0 NONE RUNNING; n1 NONE RUNNING")
}

func TestAFailedRequestKeepsItsErrorAndGivesBackWhatItHad(t *testing.T) {
	w := granted(t, slow(), "n0", "n1")
	require.NoError(t, w.FailRequest("m", "r", "IP_SPACE_EXHAUSTED", "no addresses"))
	assert.Equal(t, "IP_SPACE_EXHAUSTED", w.request("m", "r").GetStatus().GetError().GetErrors()[0].GetCode())
	w.shows("size 0; r FAILED; n0 DELETING STOPPING; n1 DELETING STOPPING")
	w.Advance(time.Hour)
	w.shows("size 0; r FAILED")
	w.vms("")
	assert.Error(t, w.FailRequest("m", "r", "X", ""), "it is not accepted any more")
}

func TestACancelledRequestTakesItsInstancesWithIt(t *testing.T) {
	w := waiting(t, slow(), "n0", "n1")
	op := w.begun(w.cancelRequest("m", "r"))
	w.shows("size 2; r ACCEPTED; n0 CREATING; n1 CREATING") // until the operation ends
	w.Advance(2 * time.Second)
	assert.Empty(t, w.outcome(op))
	w.shows("size 0; r CANCELLED")
	w.SetCapacity("", "", -1)
	w.Advance(time.Hour)
	w.vms("") // it does not come back
}

func TestACancelThatLosesTheRaceEndsInAnOperationErrorWithoutStatus(t *testing.T) {
	w := granted(t, slow(), "n0")
	w.Advance(9 * time.Second)
	op := w.begun(w.cancelRequest("m", "r"))
	w.Advance(2 * time.Second)
	w.shows("size 1; r SUCCEEDED; n0 CREATING STAGING")
	now := w.operation(op.Name())
	assert.Equal(t, "CONDITION_NOT_MET", now.GetError().GetErrors()[0].GetCode())
	assert.Equal(t, finalStateText, now.GetError().GetErrors()[0].GetMessage())
	assert.Nil(t, now.HttpErrorStatusCode)
	assert.NoError(t, op.Poll(t.Context()), "so Google's client takes it for a success")
}

func TestTheLastAttemptIsForgottenWhenARequestEnds(t *testing.T) {
	for end, act := range map[string]func(w *world){
		"FAILED":    func(w *world) { require.NoError(w.t, w.FailRequest("m", "r", "LIMIT_EXCEEDED", "too late")) },
		"CANCELLED": func(w *world) { w.begun(w.cancelRequest("m", "r")) },
	} {
		w := waiting(t, Options{}, "n0")
		require.NotNil(t, w.request("m", "r").GetStatus().GetLastAttempt())
		act(w)
		w.shows("size 0; r " + end)
		assert.Nil(t, w.request("m", "r").GetStatus().GetLastAttempt())
	}
}

func TestADeletedRequestLeavesItsVMs(t *testing.T) {
	w := granted(t, Options{}, "n0")
	w.begun(w.deleteRequest("m", "r"))
	w.shows("size 1; n0 NONE RUNNING")
}

func TestARequestInAFinalStateIsForgottenAfterFourteenDays(t *testing.T) {
	w := waiting(t, Options{AttemptInterval: time.Hour}, "n0")
	w.givenRequest("m", "waits", "n1")
	w.begun(w.cancelRequest("m", "r"))
	w.Advance(14*24*time.Hour - time.Second)
	w.shows("size 1; r CANCELLED; waits ACCEPTED; n1 CREATING")
	w.Advance(time.Second)
	w.shows("size 1; waits ACCEPTED; n1 CREATING") // no request expires while it waits
	g, _ := w.State().Group("m")
	assert.Equal(t, 14*24+1, g.Requests[0].Attempts)
}

func TestAVMLostWhileItIsCreatedFailsItsRequest(t *testing.T) {
	w := granted(t, slow(), "n0", "n1")
	require.NoError(t, w.DeleteVM("n0"))
	w.shows("size 0; r FAILED; n1 DELETING STOPPING")
	w.Advance(time.Minute)
	w.vms("")
}

func TestANameThatAnotherVMHoldsIsWaitedForUntilItIsGone(t *testing.T) {
	w := newWorld(t, slow())
	w.givenGroup("old", "us-central1-a")
	w.givenGroup("m", "us-central1-a")
	w.givenRequest("old", "r", "n0")
	w.Advance(time.Minute)
	w.begun(w.deleteInstances("old", "zones/us-central1-a/instances/n0"))
	w.Advance(2 * time.Second)
	w.givenRequest("m", "r", "n0")
	e := w.request("m", "r").GetStatus().GetLastAttempt().GetError().GetErrors()[0]
	assert.Equal(t, "RESOURCE_ALREADY_EXISTS", e.GetCode())
	assert.Equal(t, "The resource 'projects/demo/zones/us-central1-a/instances/n0' already exists", e.GetMessage())
	w.Advance(2 * time.Minute)
	w.shows("size 1; r SUCCEEDED; n0 NONE RUNNING")
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
			w.begun(w.insertGroup(c.group))
			r := namedRequest("r", "n0")
			r.RequestedRunDuration = c.run
			op := w.begun(w.insertRequest("m", r))

			e := w.operation(op.Name()).GetError().GetErrors()
			require.Len(t, e, 1)
			assert.Equal(t, c.code, e[0].GetCode())
			assert.Contains(t, e[0].GetMessage(), c.message)
			assert.Equal(t, c.code, w.request("m", "r").GetStatus().GetError().GetErrors()[0].GetCode())
			w.shows("size 0; r FAILED")
		})
	}
}

func TestTheTemplatesLeaseServesARequestThatNamesNone(t *testing.T) {
	w := newWorld(t, Options{})
	w.givenGroup("m")
	r := namedRequest("r", "n0")
	r.RequestedRunDuration = nil
	w.begun(w.insertRequest("m", r))
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
	op := w.begun(w.insertRequest("m", namedRequest("r3", "n3")))
	e := w.operation(op.Name()).GetError().GetErrors()[0]
	assert.Equal(t, "QUOTA_EXCEEDED", e.GetCode())
	assert.Equal(t, "Quota 'ACTIVE_RESIZE_REQUESTS' exceeded.  Limit: 2.0 in region us-central1.", e.GetMessage())

	w.begun(w.cancelRequest("m", "r1"))
	w.givenRequest("m", "r4", "n4")
	assert.Equal(t, "ACCEPTED", w.request("m", "r4").GetState(), "cancelled requests do not count")
}

func TestAGroupHoldsTwoThousandInstances(t *testing.T) {
	w := newWorld(t, Options{})
	w.SetCapacity("", "", 0)
	w.givenGroup("m")
	ask := func(name string, size int) string {
		instances := make([]string, size)
		for i := range instances {
			instances[i] = fmt.Sprintf("%s-%d", name, i)
		}
		return w.outcome(w.begun(w.insertRequest("m", namedRequest(name, instances...))))
	}
	assert.Equal(t, "INVALID_ARGUMENT", ask("r1", 1001))
	assert.Empty(t, ask("r2", 1000))
	assert.Empty(t, ask("r3", 1000))
	assert.Equal(t, "LIMIT_EXCEEDED", ask("r4", 1))
}

package fakegce

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"cloud.google.com/go/compute/apiv1/computepb"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
)

func TestAnInstanceSaysWhoMadeItAndWhenItEnds(t *testing.T) {
	w := newWorld(t, slow())
	w.givenGroup("m", "us-central1-b")
	w.givenRequest("m", "r", "n0")
	w.Advance(10 * time.Second)
	v, err := w.instance("us-central1-b", "n0")
	require.NoError(t, err)
	assert.Equal(t, "STAGING", v.GetStatus())
	assert.Empty(t, v.GetResourceStatus().GetScheduling().GetTerminationTimestamp(), "set on entering RUNNING")

	w.Advance(10 * time.Second)
	v, err = w.instance("us-central1-b", "n0")
	require.NoError(t, err)
	end, err := time.Parse(time.RFC3339, v.GetResourceStatus().GetScheduling().GetTerminationTimestamp())
	require.NoError(t, err)
	assert.True(t, end.Equal(w.State().Now.Add(time.Hour)), "the request's duration, from RUNNING on")
	assert.Equal(t, v.GetResourceStatus().GetScheduling().GetTerminationTimestamp(), w.members("m")["n0"].GetScheduling().GetTerminationTimestamp())
	assert.Equal(t, "FLEX_START", v.GetScheduling().GetProvisioningModel())
	assert.EqualValues(t, 3600, v.GetScheduling().GetMaxRunDuration().GetSeconds())
	metadata := make(map[string]string)
	for _, i := range v.GetMetadata().GetItems() {
		metadata[i.GetKey()] = i.GetValue()
	}
	const made = "projects/" + projectNumber + "/regions/us-central1/instanceGroupManagers/m"
	assert.Equal(t, map[string]string{"created-by": made, "google-compute-mig-resize-request": made + "/resizeRequests/r"}, metadata)
	assert.NotEmpty(t, v.GetNetworkInterfaces()[0].GetNetworkIP())
}

func TestAnEndedLeaseDeletesTheVMAndLowersTheTargetSize(t *testing.T) {
	w := granted(t, slow(), "n0", "n1")
	w.Advance(20*time.Second + time.Hour)
	w.shows("size 0; r SUCCEEDED; n0 DELETING STOPPING; n1 DELETING STOPPING")
	w.Advance(10 * time.Second)
	w.shows("size 0; r SUCCEEDED") // no later death changes a request, and an empty group is left behind
	w.vms("")
}

func TestDeletedInstancesGoWithTheirVMs(t *testing.T) {
	w := granted(t, slow(), "n0", "n1")
	w.Advance(time.Minute)
	op := w.begun(w.deleteInstances("m", "projects/demo/zones/us-central1-a/instances/n0"))
	w.Advance(2 * time.Second)
	assert.Empty(t, w.outcome(op), "done when it is scheduled")
	w.shows("size 1; r SUCCEEDED; n0 DELETING STOPPING; n1 NONE RUNNING")
	w.Advance(10 * time.Second)
	w.shows("size 1; r SUCCEEDED; n1 NONE RUNNING")
	w.vms("n1 RUNNING")
}

func TestDeletedCapacityCanBeUsedAgain(t *testing.T) {
	w := newWorld(t, Options{})
	w.SetCapacity("", "", 1)
	w.givenGroup("m", "us-central1-a")
	w.givenRequest("m", "r1", "n0")
	w.begun(w.deleteInstances("m", "zones/us-central1-a/instances/n0"))
	w.givenRequest("m", "r2", "n1")
	assert.Equal(t, "SUCCEEDED", w.request("m", "r2").GetState())
}

func TestDeleteInstancesRefuses(t *testing.T) {
	many := make([]string, 1001)
	for i := range many {
		many[i] = fmt.Sprintf("zones/us-central1-a/instances/x%d", i)
	}
	for _, c := range []struct {
		name     string
		refs     []string
		skip     bool
		code     string // of the operation
		status   int    // of the call, if that fails
		survives bool
	}{
		{"a malformed URL, even when it may skip", []string{"zones//n0"}, true, "INVALID_ARGUMENT", 0, true},
		{"another region's instance, even when it may skip", []string{"zones/europe-west4-a/instances/n0"}, true, "INVALID_ARGUMENT", 0, true},
		{"an instance that is no member", []string{"zones/us-central1-a/instances/other"}, false, "INVALID_ARGUMENT", 0, true},
		{"nothing, when it may skip who is no member", []string{"zones/us-central1-a/instances/other", "zones/us-central1-a/instances/n0"}, true, "", 0, false},
		{"more than a thousand", many, false, "", http.StatusBadRequest, true},
		{"none", nil, false, "", http.StatusBadRequest, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := granted(t, Options{}, "n0")
			op, err := w.groups.DeleteInstances(t.Context(), &computepb.DeleteInstancesRegionInstanceGroupManagerRequest{
				Project: testProject, Region: testRegion, InstanceGroupManager: "m",
				RegionInstanceGroupManagersDeleteInstancesRequestResource: &computepb.RegionInstanceGroupManagersDeleteInstancesRequest{
					Instances: c.refs, SkipInstancesOnValidationError: proto.Bool(c.skip),
				},
			})
			if c.status != 0 {
				assertRefused(t, err, c.status, "", "instances")
			} else {
				require.NoError(t, err)
				assert.Equal(t, c.code, w.outcome(op))
			}
			assert.Equal(t, c.survives, len(w.State().Instances) == 1)
		})
	}
}

func TestQueuedInstancesCannotBeDeleted(t *testing.T) {
	w := waiting(t, Options{}, "n0")
	_, err := w.deleteInstances("m", "zones/us-central1-a/instances/n0")
	assertRefused(t, err, http.StatusPreconditionFailed, "conditionNotMet", "Cancel the resize request instead")
}

func TestAnInstanceOnItsWayOutOfItsGroupIsNotDeletedAgain(t *testing.T) {
	w := granted(t, slow(), "n0")
	w.Advance(time.Minute)
	const ref = "zones/us-central1-a/instances/n0"
	w.begun(w.deleteInstances("m", ref))
	w.Advance(2 * time.Second)
	again := w.begun(w.deleteInstances("m", ref))
	client := &http.Client{Transport: &schemaChecker{t: t, next: w.Transport()}}
	post(t, client, "regions/us-central1/instanceGroupManagers/m/deleteInstances", `{"instances":["`+ref+`"],"skipInstancesOnValidationError":true}`)
	w.Advance(2 * time.Second)
	assert.Equal(t, "INVALID_ARGUMENT", w.outcome(again))
	w.shows("size 0; r SUCCEEDED; n0 DELETING STOPPING")
	w.Advance(10 * time.Second)
	w.shows("size 0; r SUCCEEDED")
}

func TestAVMLostBehindTheGroupsBackIsNotRepaired(t *testing.T) {
	w := granted(t, Options{}, "lost", "stopped")
	require.NoError(t, w.DeleteVM("lost"))
	require.NoError(t, w.StopVM("stopped"))
	w.shows("size 2; r SUCCEEDED; lost NONE; stopped NONE TERMINATED")
	assert.NotEmpty(t, w.members("m")["lost"].GetInstance(), "its URL stays")
	w.Advance(2 * time.Hour)
	w.shows("size 2; r SUCCEEDED; lost NONE; stopped NONE TERMINATED") // what does not run has no lease to end
	v, _ := w.State().Instance("stopped")
	assert.Zero(t, v.Terminates)

	w.begun(w.deleteInstances("m", "zones/us-central1-a/instances/lost", "zones/us-central1-a/instances/stopped"))
	w.shows("size 0; r SUCCEEDED")
	assert.Error(t, w.DeleteVM("lost"))
}

func TestAVMLostWhileItBootsIsNotRepairedEither(t *testing.T) {
	w := granted(t, slow(), "lost", "stopped")
	w.Advance(10 * time.Second)
	require.NoError(t, w.DeleteVM("lost"))
	require.NoError(t, w.StopVM("stopped"))
	w.shows("size 2; r SUCCEEDED; lost NONE; stopped NONE TERMINATED")
}

func TestAnInstanceDeletedByNameIsDoneWhenItIsGone(t *testing.T) {
	w := granted(t, slow(), "n0")
	w.Advance(time.Minute)
	op, err := w.instances.Delete(t.Context(), &computepb.DeleteInstanceRequest{Project: testProject, Zone: "us-central1-a", Instance: "n0"})
	require.NoError(t, err)
	w.Advance(11 * time.Second)
	v, err := w.instance("us-central1-a", "n0")
	require.NoError(t, err)
	assert.Equal(t, "STOPPING", v.GetStatus())
	w.Advance(time.Second)
	require.NoError(t, op.Poll(t.Context()))
	assert.True(t, op.Done())
	_, err = w.instance("us-central1-a", "n0")
	assertRefused(t, err, http.StatusNotFound, "notFound", "The resource 'projects/demo/zones/us-central1-a/instances/n0' was not found")
}

func TestALeaseMayBeGivenAnotherEnd(t *testing.T) {
	w := granted(t, Options{}, "sooner", "later", "stopped")
	first, _ := w.State().Instance("sooner")
	whole := first.Terminates.Sub(w.State().Now)
	require.NoError(t, w.EndLease("sooner", time.Minute))
	require.NoError(t, w.EndLease("later", 2*whole))
	require.NoError(t, w.StopVM("stopped"))
	require.ErrorContains(t, w.EndLease("stopped", time.Minute), "stopped: it has none")
	w.Advance(time.Minute)
	assert.Len(t, w.members("m"), 2, "the one that ends sooner is gone")
	w.Advance(whole)
	later, _ := w.State().Instance("later")
	assert.Equal(t, "RUNNING", later.Status)
	w.Advance(whole)
	assert.Len(t, w.members("m"), 1, "only the stopped one is left")
}

func TestALeaseMayEndInAStop(t *testing.T) {
	w := newWorld(t, Options{})
	post(t, &http.Client{Transport: w.Transport()}, "zones/us-central1-a/instances/bulkInsert", `{"count":"1","perInstanceProperties":{"n0":{}},
		"instanceProperties":{"machineType":"n2-standard-2","scheduling":{"maxRunDuration":{"seconds":"60"},"instanceTerminationAction":"STOP"}}}`)
	w.Advance(time.Minute)
	v, _ := w.State().Instance("n0")
	assert.Equal(t, "TERMINATED", v.Status)
}

package fakegce

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/compute/apiv1/computepb"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestInstanceShowsItsCreatorAndLeaseEnd(t *testing.T) {
	w := granted(t, slow(), "n0")
	w.Advance(10 * time.Second)
	v := w.instance("us-central1-a", "n0")
	assert.Equal(t, "STAGING", v.GetStatus())
	assert.Empty(t, v.GetResourceStatus().GetScheduling().GetTerminationTimestamp(), "set on entering RUNNING")

	w.Advance(10 * time.Second)
	v = w.instance("us-central1-a", "n0")
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

func TestLeaseEndDeletesTheVMAndLowersTheTargetSize(t *testing.T) {
	w := granted(t, slow(), "n0", "n1")
	w.Advance(20*time.Second + time.Hour)
	assert.Equal(t, "0; r SUCCEEDED; n0 DELETING STOPPING; n1 DELETING STOPPING;", w.shows())
	w.Advance(10 * time.Second)
	assert.Empty(t, w.State().Instances)
	assert.Equal(t, "0; r SUCCEEDED;", w.shows(), "no later death changes a request, and an empty group is left behind")
}

const (
	refN0 = "zones/us-central1-a/instances/n0"
	pathM = "regions/us-central1/instanceGroupManagers/m"
)

func TestDeletingInstancesDeletesTheirVMs(t *testing.T) {
	w := granted(t, slow(), "n0", "n1")
	w.Advance(time.Minute)
	op := w.begun(w.deleteInstances("m", "projects/demo/"+refN0))
	w.Advance(2 * time.Second)
	assert.Empty(t, w.outcome(op), "done when it is scheduled")
	assert.Equal(t, "1; r SUCCEEDED; n0 DELETING STOPPING; n1 NONE RUNNING;", w.shows())
	w.Advance(10 * time.Second)
	assert.Equal(t, "1; r SUCCEEDED; n1 NONE RUNNING;", w.shows())
	assert.Len(t, w.State().Instances, 1)
}

func TestDeletedCapacityCanBeUsedAgain(t *testing.T) {
	w := newWorld(t, Options{})
	w.SetCapacity("", "", 1)
	w.givenGroup("m", "us-central1-a")
	w.givenRequest("m", "r1", "n0")
	w.begun(w.deleteInstances("m", refN0))
	w.givenRequest("m", "r2", "n1")
	assert.Equal(t, "SUCCEEDED", w.request("m", "r2").GetState())
}

func TestQueuedInstancesMayBeListed(t *testing.T) {
	w := queued(t, Options{Switches: Switches{PendingInstances: true}}, "n0", "n1")
	w.clock.Advance(time.Minute)
	status, body := w.ask(http.MethodGet, "aggregated/instances", "")
	require.Equal(t, http.StatusOK, status)
	assert.Equal(t, 2, strings.Count(body, `"status":"PENDING"`))
	assert.Contains(t, body, "instanceGroupManagers/m")

	w.SetCapacity("", "", 2)
	w.clock.Advance(time.Hour)
	_, body = w.ask(http.MethodGet, "aggregated/instances", "")
	assert.NotContains(t, body, "PENDING")
	assert.Equal(t, 2, strings.Count(body, `"status":"RUNNING"`))
}

func TestInstanceBeingDeletedIsNotDeletedAgain(t *testing.T) {
	w := granted(t, slow(), "n0")
	w.Advance(time.Minute)
	assert.Equal(t, "RUNNING", w.members("m")["n0"].GetTargetStatus())
	w.begun(w.deleteInstances("m", refN0))
	w.Advance(2 * time.Second)
	assert.Equal(t, "0; r SUCCEEDED; n0 DELETING STOPPING;", w.shows())
	assert.Equal(t, "DELETED", w.members("m")["n0"].GetTargetStatus())
	again := w.begun(w.deleteInstances("m", refN0))
	w.post(pathM+"/deleteInstances", `{"instances":["`+refN0+`"],"skipInstancesOnValidationError":true}`)
	w.Advance(2 * time.Second)
	assert.Equal(t, "INVALID_ARGUMENT", w.outcome(again))
	assert.Equal(t, "0; r SUCCEEDED; n0 DELETING STOPPING;", w.shows())
	w.Advance(10 * time.Second)
	assert.Equal(t, "0; r SUCCEEDED;", w.shows())
}

func TestGroupDoesNotRepairALostVM(t *testing.T) {
	for _, booting := range []bool{true, false} {
		w := granted(t, slow(), "lost", "stopped")
		w.Advance(10 * time.Second)
		if !booting {
			w.Advance(10 * time.Second)
		}
		require.NoError(t, w.DeleteVM("lost"))
		require.NoError(t, w.StopVM("stopped"))
		assert.Equal(t, "2; r SUCCEEDED; lost NONE; stopped NONE TERMINATED;", w.shows())
		assert.Nil(t, w.members("m")["lost"].InstanceStatus)
		assert.NotEmpty(t, w.members("m")["lost"].GetInstance(), "its URL stays")
		w.Advance(2 * time.Hour)
		assert.Equal(t, "2; r SUCCEEDED; lost NONE; stopped NONE TERMINATED;", w.shows(), "a stopped instance has no lease to end")
		assert.Zero(t, w.vm("stopped").Terminates)

		w.begun(w.deleteInstances("m", "zones/us-central1-a/instances/lost", "zones/us-central1-a/instances/stopped"))
		w.Advance(time.Minute)
		assert.Equal(t, "0; r SUCCEEDED;", w.shows())
		assert.Error(t, w.DeleteVM("lost"))
	}
}

func TestInstanceDeletionEndsWhenTheVMNoLongerExists(t *testing.T) {
	w := granted(t, slow(), "n0")
	w.Advance(time.Minute)
	op := w.begun(w.instances.Delete(t.Context(), &computepb.DeleteInstanceRequest{
		Project: testProject, Zone: "us-central1-a", Instance: "n0",
	}))
	w.Advance(11 * time.Second)
	assert.Equal(t, "STOPPING", w.vm("n0").Status)
	w.Advance(time.Second)
	require.NoError(t, op.Poll(t.Context()))
	assert.True(t, op.Done())
	_, err := w.instances.Delete(t.Context(), &computepb.DeleteInstanceRequest{Project: testProject, Zone: "us-central1-a", Instance: "n0"})
	assertRefused(t, err, http.StatusNotFound, "notFound", "The resource 'projects/demo/"+refN0+"' was not found")
}

func TestLeaseEndCanBeChanged(t *testing.T) {
	w := granted(t, Options{}, "sooner", "later", "stopped")
	whole := w.vm("sooner").Terminates.Sub(w.State().Now)
	require.NoError(t, w.EndLease("sooner", time.Minute))
	require.NoError(t, w.EndLease("later", 2*whole))
	require.NoError(t, w.StopVM("stopped"))
	require.ErrorContains(t, w.EndLease("stopped", time.Minute), "stopped: it does not run")
	w.Advance(time.Minute)
	assert.Len(t, w.members("m"), 2, "the one that ends sooner is gone")
	w.Advance(whole)
	assert.Equal(t, "RUNNING", w.vm("later").Status)
	w.Advance(whole)
	assert.Len(t, w.members("m"), 1, "only the stopped one is left")
}

func TestLeaseEndMayStopTheVM(t *testing.T) {
	w := newWorld(t, Options{})
	w.post("zones/us-central1-a/instances/bulkInsert", `{"count":"1","perInstanceProperties":{"n0":{}},
		"instanceProperties":{"machineType":"n2-standard-2",`+bootable+`,"scheduling":{"maxRunDuration":{"seconds":"60"},"instanceTerminationAction":"STOP"}}}`)
	w.Advance(time.Minute)
	assert.Equal(t, "TERMINATED", w.vm("n0").Status)
}

func TestDeleteInstancesRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		refs     string
		skip     bool
		code     string // of the operation; empty if it succeeds
		survives bool
	}{
		"a malformed URL, even when it may skip":              {`"zones//n0"`, true, "INVALID_ARGUMENT", true},
		"another region's instance, even when it may skip":    {`"zones/europe-west4-a/instances/n0"`, true, "INVALID_ARGUMENT", true},
		"an instance outside the group":                       {`"zones/us-central1-a/instances/other"`, false, "INVALID_ARGUMENT", true},
		"nothing, if it may skip instances outside the group": {`"zones/us-central1-a/instances/other","` + refN0 + `"`, true, "", false},
	} {
		w := granted(t, Options{}, "n0")
		w.post(pathM+"/deleteInstances", fmt.Sprintf(`{"instances":[%s],"skipInstancesOnValidationError":%t}`, c.refs, c.skip))
		operations := w.State().Operations
		code, _, _ := strings.Cut(operations[len(operations)-1].Error, ":")
		assert.Equal(t, c.code, code, name)
		assert.Equal(t, c.survives, len(w.State().Instances) == 1, name)
	}
}

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
	w := newWorld(t, slow())
	w.givenGroup("m")
	w.givenRequest("m", "r", "n0", "n1")
	w.Advance(20*time.Second + time.Hour)
	assert.Equal(t, "STOPPING", w.members("m")["n0"].GetInstanceStatus())
	assert.Equal(t, "DELETING", w.members("m")["n0"].GetCurrentAction())
	assert.Zero(t, w.group("m").GetTargetSize())
	w.Advance(10 * time.Second)
	assert.Empty(t, w.State().Instances)
	assert.Empty(t, w.members("m"))
	assert.Equal(t, "SUCCEEDED", w.request("m", "r").GetState(), "no later death changes a request")
	_, stays := w.State().Group("m")
	assert.True(t, stays, "an empty group is left behind")
}

func TestDeletedInstancesGoWithTheirVMs(t *testing.T) {
	w := newWorld(t, slow())
	w.givenGroup("m", "us-central1-a")
	w.givenRequest("m", "r", "n0", "n1")
	w.Advance(time.Minute)
	op, err := w.deleteInstances("m", "projects/demo/zones/us-central1-a/instances/n0")
	require.NoError(t, err)
	w.Advance(2 * time.Second)
	assert.Empty(t, w.outcome(op), "done when it is scheduled")
	assert.EqualValues(t, 1, w.group("m").GetTargetSize())
	assert.Equal(t, "STOPPING", w.members("m")["n0"].GetInstanceStatus())
	w.Advance(10 * time.Second)
	assert.Len(t, w.members("m"), 1)
	assert.Len(t, w.State().Instances, 1)
}

func TestDeletedCapacityCanBeUsedAgain(t *testing.T) {
	w := newWorld(t, Options{})
	w.SetCapacity("", "", 1)
	w.givenGroup("m", "us-central1-a")
	w.givenRequest("m", "r1", "n0")
	_, err := w.deleteInstances("m", "zones/us-central1-a/instances/n0")
	require.NoError(t, err)
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
			w := newWorld(t, Options{})
			w.givenGroup("m", "us-central1-a")
			w.givenRequest("m", "r", "n0")
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

func TestQueuedInstancesCannotBeDeletedOrAbandoned(t *testing.T) {
	w := newWorld(t, Options{})
	w.SetCapacity("", "", 0)
	w.givenGroup("m", "us-central1-a")
	w.givenRequest("m", "r", "n0")
	_, err := w.deleteInstances("m", "zones/us-central1-a/instances/n0")
	assertRefused(t, err, http.StatusPreconditionFailed, "conditionNotMet", "Cancel the resize request instead")
	_, err = w.abandonInstances("m", "zones/us-central1-a/instances/n0")
	assertRefused(t, err, http.StatusPreconditionFailed, "conditionNotMet", "Cancel the resize request instead")
}

func TestAnAbandonedInstanceLivesOnWithoutItsGroup(t *testing.T) {
	w := newWorld(t, Options{})
	w.givenGroup("m", "us-central1-a")
	w.givenRequest("m", "r", "n0")
	_, err := w.abandonInstances("m", "zones/us-central1-a/instances/n0")
	require.NoError(t, err)
	assert.Empty(t, w.members("m"))
	assert.Zero(t, w.group("m").GetTargetSize())
	v, _ := w.State().Instance("n0")
	assert.Equal(t, "RUNNING", v.Status)
	_, err = w.deleteGroup("m")
	require.NoError(t, err)
	assert.Len(t, w.State().Instances, 1)
	w.Advance(time.Hour)
	assert.Empty(t, w.State().Instances, "its lease still ends")
}

func TestAnInstanceOnItsWayOutOfItsGroupIsNotDeletedAgain(t *testing.T) {
	for _, c := range []struct{ method, action, status string }{
		{"deleteInstances", "DELETING", "STOPPING"}, {"abandonInstances", "ABANDONING", "RUNNING"},
	} {
		t.Run(c.action, func(t *testing.T) {
			w := newWorld(t, slow())
			w.givenGroup("m", "us-central1-a")
			w.givenRequest("m", "r", "n0")
			w.Advance(time.Minute)
			const ref = "zones/us-central1-a/instances/n0"
			client := &http.Client{Transport: &schemaChecker{t: t, next: w.Transport()}}
			post(t, client, "regions/us-central1/instanceGroupManagers/m/"+c.method, `{"instances":["`+ref+`"]}`)
			w.Advance(2 * time.Second)
			assert.Equal(t, c.action, w.members("m")["n0"].GetCurrentAction())
			assert.Equal(t, c.status, w.members("m")["n0"].GetInstanceStatus())
			assert.Zero(t, w.group("m").GetTargetSize())

			again, err := w.deleteInstances("m", ref)
			require.NoError(t, err)
			post(t, client, "regions/us-central1/instanceGroupManagers/m/deleteInstances", `{"instances":["`+ref+`"],"skipInstancesOnValidationError":true}`)
			w.Advance(2 * time.Second)
			assert.Equal(t, "INVALID_ARGUMENT", w.outcome(again))
			assert.Equal(t, c.status, w.members("m")["n0"].GetInstanceStatus())
			assert.Zero(t, w.group("m").GetTargetSize())
			w.Advance(10 * time.Second)
			assert.Empty(t, w.members("m"))
		})
	}
}

func TestAGroupIsGoneWhenTheLastInstanceIsAbandoned(t *testing.T) {
	w := newWorld(t, slow())
	w.givenGroup("m", "us-central1-a")
	w.givenRequest("m", "r", "n0")
	w.Advance(time.Minute)
	_, err := w.abandonInstances("m", "zones/us-central1-a/instances/n0")
	require.NoError(t, err)
	w.Advance(2 * time.Second)
	deleted, err := w.deleteGroup("m")
	require.NoError(t, err)
	w.Advance(2 * time.Second)
	assert.Equal(t, "RUNNING", w.outcome(deleted))
	w.Advance(8 * time.Second)
	assert.Empty(t, w.outcome(deleted))
	v, _ := w.State().Instance("n0")
	assert.Equal(t, "RUNNING", v.Status)
}

func TestAVMLostBehindTheGroupsBackIsNotRepaired(t *testing.T) {
	w := newWorld(t, Options{})
	w.givenGroup("m", "us-central1-a")
	w.givenRequest("m", "r", "lost", "stopped")
	require.NoError(t, w.DeleteVM("lost"))
	require.NoError(t, w.StopVM("stopped"))

	members := w.members("m")
	assert.Nil(t, members["lost"].InstanceStatus)
	assert.NotEmpty(t, members["lost"].GetInstance(), "its URL stays")
	assert.Equal(t, "TERMINATED", members["stopped"].GetInstanceStatus())
	assert.EqualValues(t, 2, w.group("m").GetTargetSize(), "unchanged")

	_, err := w.deleteInstances("m", "zones/us-central1-a/instances/lost", "zones/us-central1-a/instances/stopped")
	require.NoError(t, err)
	assert.Empty(t, w.members("m"))
	assert.Zero(t, w.group("m").GetTargetSize())
	assert.Error(t, w.DeleteVM("lost"))
}

func TestAVMLostWhileItBootsIsNotRepairedEither(t *testing.T) {
	w := newWorld(t, slow())
	w.givenGroup("m")
	w.givenRequest("m", "r", "lost", "stopped")
	w.Advance(10 * time.Second)
	require.Equal(t, "SUCCEEDED", w.request("m", "r").GetState())
	require.NoError(t, w.DeleteVM("lost"))
	require.NoError(t, w.StopVM("stopped"))
	for name, m := range w.members("m") {
		assert.Equal(t, "NONE", m.GetCurrentAction(), name)
	}
}

func TestAnInstanceDeletedByNameIsDoneWhenItIsGone(t *testing.T) {
	w := newWorld(t, slow())
	w.givenGroup("m", "us-central1-a")
	w.givenRequest("m", "r", "n0")
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

func TestManagedInstancesArePagedOnlyIfTheGroupSaysSo(t *testing.T) {
	for listing, calls := range map[string]int{"PAGELESS": 1, "PAGINATED": 3} {
		t.Run(listing, func(t *testing.T) {
			w := newWorld(t, Options{PageLimit: 1})
			g := flexGroup("m")
			g.ListManagedInstancesResults = proto.String(listing)
			_, err := w.insertGroup(g)
			require.NoError(t, err)
			w.givenRequest("m", "r", "n0", "n1", "n2")
			assert.Len(t, w.members("m"), 3)
			assert.Equal(t, calls, w.Counts()["regionInstanceGroupManagers.listManagedInstances"])
		})
	}
}

func TestManagedInstancesHaveNoOrderAndWithoutPagesNoToken(t *testing.T) {
	w := newWorld(t, Options{})
	w.givenGroup("m")
	for _, parameter := range []string{"orderBy=name", "pageToken=x"} {
		status, body := ask(t, &http.Client{Transport: w.Transport()}, http.MethodPost,
			"regions/us-central1/instanceGroupManagers/m/listManagedInstances?"+parameter, "")
		assert.Equal(t, http.StatusBadRequest, status)
		assert.Contains(t, body, "is not supported")
	}
}

func (w *world) abandonInstances(group string, refs ...string) (any, error) {
	return w.groups.AbandonInstances(w.t.Context(), &computepb.AbandonInstancesRegionInstanceGroupManagerRequest{
		Project: testProject, Region: testRegion, InstanceGroupManager: group,
		RegionInstanceGroupManagersAbandonInstancesRequestResource: &computepb.RegionInstanceGroupManagersAbandonInstancesRequest{Instances: refs},
	})
}

func TestWhatDoesNotRunHasNoLeaseToEnd(t *testing.T) {
	w := newWorld(t, Options{})
	w.givenGroup("m", "us-central1-a")
	w.givenRequest("m", "r", "lost", "stopped")
	require.NoError(t, w.DeleteVM("lost"))
	require.NoError(t, w.StopVM("stopped"))
	w.Advance(2 * time.Hour)
	v, _ := w.State().Instance("stopped")
	assert.Equal(t, "TERMINATED", v.Status)
	assert.Zero(t, v.Terminates)
	assert.Len(t, w.members("m"), 2)
	assert.EqualValues(t, 2, w.group("m").GetTargetSize())
}

func TestALeaseMayBeGivenAnotherEnd(t *testing.T) {
	w := newWorld(t, Options{})
	w.givenGroup("m", "us-central1-a")
	w.givenRequest("m", "r", "sooner", "later", "stopped")
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

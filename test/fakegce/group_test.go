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
	"google.golang.org/protobuf/proto"
)

func TestAGroupIsReadBackAsItWasWrittenWithWhatComputeAdds(t *testing.T) {
	w := newWorld(t, Options{})
	spec := flexGroup("m", "us-central1-c", "us-central1-a")
	spec.Description = proto.String(`{"cluster":"alpha"}`)
	op, err := w.insertGroup(spec)
	require.NoError(t, err)
	require.NoError(t, op.Wait(t.Context()))

	g := w.group("m")
	assert.JSONEq(t, `{"cluster":"alpha"}`, g.GetDescription())
	assert.NotNil(t, g.TargetSize, "zero is sent")
	assert.Equal(t, "ANY_SINGLE_ZONE", g.GetDistributionPolicy().GetTargetShape())
	assert.Equal(t, "https://www.googleapis.com/compute/v1/projects/demo/zones/us-central1-c", g.GetDistributionPolicy().GetZones()[0].GetZone())
	assert.Equal(t, "https://www.googleapis.com/compute/v1/projects/demo/regions/us-central1/instanceGroupManagers/m", g.GetSelfLink())
	assert.Equal(t, "compute#instanceGroupManager", g.GetKind())
	assert.NotZero(t, g.GetId())
	assert.True(t, g.GetStatus().GetIsStable())
	created, err := time.Parse(time.RFC3339, g.GetCreationTimestamp())
	require.NoError(t, err)
	assert.True(t, created.Equal(w.State().Now))
}

func TestAGroupMidOperationIsNotReadyForChanges(t *testing.T) {
	w := newWorld(t, slow())
	op, err := w.insertGroup(flexGroup("m"))
	require.NoError(t, err)
	_, err = w.insertRequest("m", namedRequest("r", "n0"))
	assertRefused(t, err, http.StatusBadRequest, "resourceNotReady", "The resource 'projects/demo/regions/us-central1/instanceGroupManagers/m' is not ready")
	_, err = w.insertGroup(flexGroup("m"))
	assertRefused(t, err, http.StatusConflict, "alreadyExists", "The resource 'projects/demo/regions/us-central1/instanceGroupManagers/m' already exists")

	w.Advance(2 * time.Second)
	assert.Empty(t, w.outcome(op))
	w.givenRequest("m", "r", "n0")
}

func TestADeletedGroupTakesItsRequestsAndVMs(t *testing.T) {
	w := newWorld(t, slow())
	w.givenGroup("m")
	w.givenRequest("m", "got", "n0")
	w.Advance(time.Minute)
	w.SetCapacity("", "", 0)
	w.givenRequest("m", "waits", "n1")
	op, err := w.deleteGroup("m")
	require.NoError(t, err)
	_, err = w.cancelRequest("m", "waits")
	assertRefused(t, err, http.StatusBadRequest, "resourceNotReady", "not ready")

	w.Advance(2 * time.Second)
	assert.Equal(t, "DELETING", w.members("m")["n0"].GetCurrentAction())
	assert.Equal(t, "RUNNING", w.outcome(op), "the VM is still stopping")
	w.Advance(10 * time.Second)
	assert.Empty(t, w.outcome(op))
	assert.Empty(t, w.State().Groups)
	assert.Empty(t, w.State().Instances)
	w.SetCapacity("", "", -1)
	w.Advance(time.Hour)
	assert.Empty(t, w.State().Instances, "nothing comes after it")
}

func TestADeletionWaitsForTheRequestThatIsBeingCreated(t *testing.T) {
	w := newWorld(t, slow())
	w.givenGroup("m")
	w.givenRequest("m", "r", "n0")
	op, err := w.deleteGroup("m")
	require.NoError(t, err)

	w.Advance(9 * time.Second)
	assert.Equal(t, "PROVISIONING", w.members("m")["n0"].GetInstanceStatus())
	assert.Equal(t, "CREATING", w.members("m")["n0"].GetCurrentAction())
	w.Advance(time.Second)
	assert.Equal(t, "STOPPING", w.members("m")["n0"].GetInstanceStatus(), "only now does it go")
	w.Advance(10 * time.Second)
	assert.Empty(t, w.outcome(op))
}

func TestARequestStillCreatingWhenItsGroupGoesIsNotAccepted(t *testing.T) {
	w := newWorld(t, slow())
	w.givenGroup("m")
	inserted, err := w.insertRequest("m", namedRequest("r", "n0"))
	require.NoError(t, err)
	w.Advance(time.Second)
	deleted, err := w.deleteGroup("m")
	require.NoError(t, err)
	w.Advance(2 * time.Second)
	assert.Equal(t, "RESOURCE_NOT_READY", w.outcome(inserted))
	assert.Empty(t, w.outcome(deleted))
	assert.Empty(t, w.State().Groups)
}

func TestInsertGroupRefuses(t *testing.T) {
	for _, c := range []struct {
		name    string
		edit    func(*computepb.InstanceGroupManager)
		status  int
		reason  string
		message string
	}{
		{"a size above zero with a flex-start template", func(g *computepb.InstanceGroupManager) { g.TargetSize = proto.Int32(2) }, 400, "invalid", "grows by resize requests only"},
		{"no size at all", func(g *computepb.InstanceGroupManager) { g.TargetSize = nil }, 400, "required", "targetSize"},
		{"a name that is none", func(g *computepb.InstanceGroupManager) { g.Name = proto.String("Bad_Name") }, 400, "invalid", "Bad_Name"},
		{"a base name too long for four characters and a hyphen behind it", func(g *computepb.InstanceGroupManager) {
			g.BaseInstanceName = proto.String(strings.Repeat("x", 59))
		}, 400, "invalid", "at most 58 characters"},
		{"a base name that ends in a hyphen", func(g *computepb.InstanceGroupManager) { g.BaseInstanceName = proto.String("x-") }, 400, "invalid", "baseInstanceName"},
		{"a template that is not there", func(g *computepb.InstanceGroupManager) {
			g.Versions[0].InstanceTemplate = proto.String("global/instanceTemplates/none")
		}, 404, "notFound", "The resource 'projects/demo/global/instanceTemplates/none' was not found"},
		{"a template of another region", func(g *computepb.InstanceGroupManager) {
			g.Versions[0].InstanceTemplate = proto.String("projects/demo/regions/europe-west4/instanceTemplates/a3")
		}, 400, "invalid", "another region"},
		{"no template", func(g *computepb.InstanceGroupManager) { g.Versions = nil }, 400, "required", "instanceTemplate"},
		{"two versions", func(g *computepb.InstanceGroupManager) { g.Versions = append(g.Versions, g.Versions[0]) }, 400, "invalid", "version"},
		{"a zone of another region", func(g *computepb.InstanceGroupManager) {
			g.DistributionPolicy = flexGroup("", "europe-west4-a").DistributionPolicy
		}, 400, "invalid", "europe-west4-a"},
		{"a shape that is none", func(g *computepb.InstanceGroupManager) {
			g.DistributionPolicy.TargetShape = proto.String("CIRCLE")
		}, 400, "invalid", "CIRCLE"},
		{"an update type that is none", func(g *computepb.InstanceGroupManager) { g.UpdatePolicy.Type = proto.String("SLOW") }, 400, "invalid", "SLOW"},
		{"a workload policy that is not there", func(g *computepb.InstanceGroupManager) {
			g.ResourcePolicies = &computepb.InstanceGroupManagerResourcePolicies{WorkloadPolicy: proto.String("regions/us-central1/resourcePolicies/wp")}
		}, 404, "notFound", "resourcePolicies/wp"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, Options{})
			_, err := w.AddTemplate("europe-west4", FlexTemplate("a3", testMachine))
			require.NoError(t, err)
			g := flexGroup("m")
			c.edit(g)
			_, err = w.insertGroup(g)
			assertRefused(t, err, c.status, c.reason, c.message)
			assert.Empty(t, w.State().Groups)
		})
	}
}

func TestAGroupWithAQueuedRequestCannotBeResized(t *testing.T) {
	w := newWorld(t, Options{})
	w.SetCapacity("", "", 0)
	w.givenGroup("m")
	w.givenRequest("m", "r", "n0")
	_, err := w.groups.Resize(t.Context(), &computepb.ResizeRegionInstanceGroupManagerRequest{
		Project: testProject, Region: testRegion, InstanceGroupManager: "m", Size: 0,
	})
	assertRefused(t, err, http.StatusPreconditionFailed, "conditionNotMet", "accepted resize request")
	_, err = w.patchGroup("m", &computepb.InstanceGroupManager{TargetSize: proto.Int32(0)})
	assertRefused(t, err, http.StatusPreconditionFailed, "conditionNotMet", "accepted resize request")
	version := flexGroup("m").Versions[0]
	_, err = w.patchGroup("m", &computepb.InstanceGroupManager{Versions: []*computepb.InstanceGroupManagerVersion{version, version}})
	assertRefused(t, err, http.StatusPreconditionFailed, "conditionNotMet", "second version")
}

func TestAGroupResizedDownGivesUpItsInstances(t *testing.T) {
	w := newWorld(t, Options{})
	w.givenGroup("m")
	w.givenRequest("m", "r", "n0", "n1", "n2")
	require.NoError(t, w.DeleteVM("n1"))
	resize := func(size int32) error {
		_, err := w.groups.Resize(t.Context(), &computepb.ResizeRegionInstanceGroupManagerRequest{
			Project: testProject, Region: testRegion, InstanceGroupManager: "m", Size: size,
		})
		return err
	}
	require.NoError(t, resize(2))
	assert.Len(t, w.State().Instances, 2, "the member without a VM went first")
	require.NoError(t, resize(0))
	assert.Empty(t, w.State().Instances)
	assert.Zero(t, w.group("m").GetTargetSize())
	assertRefused(t, resize(1), http.StatusBadRequest, "invalid", "grows by resize requests only")
}

func TestAPatchChangesPoliciesAndHoldsTheFingerprint(t *testing.T) {
	w := newWorld(t, Options{})
	w.givenGroup("m")
	stale := w.group("m").GetFingerprint()
	_, err := w.patchGroup("m", &computepb.InstanceGroupManager{
		Fingerprint:  proto.String(stale),
		UpdatePolicy: &computepb.InstanceGroupManagerUpdatePolicy{Type: proto.String("PROACTIVE")},
	})
	require.NoError(t, err)
	assert.Equal(t, "PROACTIVE", w.group("m").GetUpdatePolicy().GetType())
	_, err = w.patchGroup("m", &computepb.InstanceGroupManager{Fingerprint: proto.String(stale)})
	assertRefused(t, err, http.StatusPreconditionFailed, "conditionNotMet", "fingerprint")
	_, err = w.patchGroup("m", &computepb.InstanceGroupManager{Description: proto.String("x")})
	assertRefused(t, err, http.StatusBadRequest, "invalid", "description")
}

func TestAZonalGroupWorksAsARegionalOne(t *testing.T) {
	w := newWorld(t, Options{})
	client := &http.Client{Transport: &schemaChecker{t: t, next: w.Transport()}}
	const at = "zones/us-central1-b/instanceGroupManagers"
	post(t, client, at, `{"name":"z","targetSize":0,"versions":[{"instanceTemplate":"projects/demo/regions/us-central1/instanceTemplates/a3"}],
		"instanceLifecyclePolicy":{"defaultActionOnFailure":"DO_NOTHING"}}`)
	post(t, client, at+"/z/resizeRequests", `{"name":"r","instances":[{"name":"n0"}],"requestedRunDuration":{"seconds":"600"}}`)
	v, _ := w.State().Instance("n0")
	assert.Equal(t, "us-central1-b", v.Zone)
	assert.Equal(t, "z", v.Group)

	post(t, client, at+"/z/deleteInstances", `{"instances":["projects/demo/zones/us-central1-b/instances/n0"]}`)
	assert.Empty(t, w.State().Instances)
	status, _ := ask(t, client, http.MethodDelete, at+"/z", "")
	assert.Equal(t, http.StatusOK, status)
	assert.Empty(t, w.State().Groups)
}

func TestGroupsAreListedByRegionAndAggregated(t *testing.T) {
	w := newWorld(t, Options{PageLimit: 2})
	for i := range 5 {
		w.givenGroup(fmt.Sprintf("m%d", i))
	}
	var names []string
	for g, err := range w.groups.List(t.Context(), &computepb.ListRegionInstanceGroupManagersRequest{Project: testProject, Region: testRegion}).All() {
		require.NoError(t, err)
		names = append(names, g.GetName())
	}
	assert.Equal(t, []string{"m0", "m1", "m2", "m3", "m4"}, names)
	assert.Equal(t, 3, w.Counts()["regionInstanceGroupManagers.list"])

	client := &http.Client{Transport: &schemaChecker{t: t, next: w.Transport()}}
	_, body := ask(t, client, http.MethodGet, "aggregated/instanceGroupManagers?maxResults=1", "")
	assert.Contains(t, body, `"name":"m0"`)
	assert.Contains(t, body, `"nextPageToken":`)
	assert.Contains(t, body, "There are no results for scope 'zones/us-central1-a' on this page.")
}

func (w *world) patchGroup(name string, change *computepb.InstanceGroupManager) (any, error) {
	return w.groups.Patch(w.t.Context(), &computepb.PatchRegionInstanceGroupManagerRequest{
		Project: testProject, Region: testRegion, InstanceGroupManager: name, InstanceGroupManagerResource: change,
	})
}

package fakegce

import (
	"encoding/json"
	"maps"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
)

func TestGroupReadsBackAsWrittenPlusOutputFields(t *testing.T) {
	w := newWorld(t, Options{})
	spec := flexGroup("m", "us-central1-c", "us-central1-a")
	spec.Description = proto.String(`{"cluster":"alpha"}`)
	require.NoError(t, w.begun(w.insertGroup(spec)).Wait(t.Context()))

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

func TestGroupRefusesChangesDuringAnOperation(t *testing.T) {
	w := newWorld(t, slow())
	op := w.begun(w.insertGroup(flexGroup("m")))
	_, err := w.insertRequest("m", namedRequest("r", "n0"))
	assertRefused(t, err, http.StatusBadRequest, "resourceNotReady", "The resource 'projects/demo/regions/us-central1/instanceGroupManagers/m' is not ready")
	_, err = w.insertGroup(flexGroup("m"))
	assertRefused(t, err, http.StatusConflict, "alreadyExists", "The resource 'projects/demo/regions/us-central1/instanceGroupManagers/m' already exists")

	w.Advance(2 * time.Second)
	assert.Empty(t, w.outcome(op))
	w.givenRequest("m", "r", "n0")
}

// plainGroup is flexGroup("m") in JSON.
const plainGroup = `{"name":"m","baseInstanceName":"m","targetSize":0,
	"versions":[{"instanceTemplate":"projects/demo/regions/us-central1/instanceTemplates/a3"}],
	"distributionPolicy":{"targetShape":"ANY_SINGLE_ZONE"},"instanceLifecyclePolicy":{"defaultActionOnFailure":"DO_NOTHING"},
	"updatePolicy":{"type":"OPPORTUNISTIC","instanceRedistributionType":"NONE"}}`

// changed returns the JSON object with some fields replaced; null removes a field.
func changed(t *testing.T, object, change string) string {
	t.Helper()
	fields := map[string]any{}
	require.NoError(t, json.Unmarshal([]byte(object), &fields))
	require.NoError(t, json.Unmarshal([]byte(change), &fields))
	maps.DeleteFunc(fields, func(_ string, value any) bool { return value == nil })
	text, err := json.Marshal(fields)
	require.NoError(t, err)
	return string(text)
}

func TestDeletingAGroupDeletesItsRequestsAndVMs(t *testing.T) {
	w := granted(t, slow(), "n0")
	w.Advance(time.Minute)
	w.SetCapacity("", "", 0)
	w.givenRequest("m", "waits", "n1")
	op := w.begun(w.deleteGroup("m"))
	_, err := w.cancelRequest("m", "waits")
	assertRefused(t, err, http.StatusBadRequest, "resourceNotReady", "not ready")

	w.Advance(2 * time.Second)
	assert.Equal(t, "DELETING", w.members("m")["n0"].GetCurrentAction())
	assert.Equal(t, "RUNNING", w.outcome(op), "the VM is still stopping")
	w.Advance(10 * time.Second)
	assert.Empty(t, w.outcome(op))
	assert.Empty(t, w.State().Groups)
	w.SetCapacity("", "", -1)
	w.Advance(time.Hour)
	assert.Empty(t, w.State().Instances, "nothing comes after it")
}

func TestGroupDeletionWaitsForVMsBeingCreated(t *testing.T) {
	w := granted(t, slow(), "n0")
	op := w.begun(w.deleteGroup("m"))
	w.Advance(9 * time.Second)
	assert.Contains(t, w.shows(), "; n0 CREATING PROVISIONING;")
	w.Advance(time.Second)
	assert.Contains(t, w.shows(), "; n0 DELETING STOPPING;", "only now does it go")
	w.Advance(10 * time.Second)
	assert.Empty(t, w.outcome(op))
}

func TestCreatingRequestOfADeletedGroupIsNotAccepted(t *testing.T) {
	w := newWorld(t, slow())
	w.givenGroup("m")
	inserted := w.begun(w.insertRequest("m", namedRequest("r", "n0")))
	w.Advance(time.Second)
	deleted := w.begun(w.deleteGroup("m"))
	w.Advance(2 * time.Second)
	assert.Equal(t, "RESOURCE_NOT_READY", w.outcome(inserted))
	assert.Empty(t, w.outcome(deleted))
	assert.Empty(t, w.State().Groups)
}

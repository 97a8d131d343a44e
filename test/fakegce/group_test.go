package fakegce

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

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

package fakegce

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

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

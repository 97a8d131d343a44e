package plan_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"slurmflex/test/scenetest"
)

// K6: the door was deleted by hand, and Slurm has planned the job on other nodes since. K7: a node behind
// the door is withdrawn.
func TestJobWithARequestKeepsItsNodesWithoutADoor(t *testing.T) {
	w := newWaitingPending()
	w.Requested(7, "alpha-a3-[0-1]", time.Hour)
	w.Nodes("alpha-a3-0", "IDLE+CLOUD+DRAIN+POWERED_DOWN")
	assert.Empty(t, w.inSlurm(), "a drained node")
	assert.NotContains(t, w.inCompute(), "cancel request")
	w.Nodes("alpha-a3-0", scenetest.PoweredDown)
	w.doorless()
	w.offDoor()
	w.planned("alpha-a3-[2-3]")
	assert.Equal(t, "reserve alpha-a3-[0-1] from 2026-11-21T12:15:00Z\nhave job 7 use reservation NEW", strings.ReplaceAll(w.inSlurm(), newDoor("7"), "NEW"))
	assert.NotContains(t, w.inCompute(), "request ")
}

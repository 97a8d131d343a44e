package plan_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"slurmflex/mig"
	"slurmflex/test/scenetest"
)

// K6: the door was deleted by hand, and Slurm has planned the job on other nodes since. K7: a node behind
// the door is withdrawn.
func TestJobWithARequestKeepsItsNodesWithoutADoor(t *testing.T) {
	w := newWaitingPending()
	w.Group("alpha-a3-job-7", mig.Stamp{NodeSet: "a3", Job: 7}, mig.Request{
		Name: "a1", State: mig.Accepted, Instances: scenetest.Names("alpha-a3-[0-1]"), Duration: 4 * time.Hour, Created: noon.Add(-time.Hour),
	})
	w.Nodes("alpha-a3-0", "IDLE+CLOUD+DRAIN+POWERED_DOWN")
	assert.Empty(t, w.inSlurm(), "a drained node")
	assert.NotContains(t, strings.Join(w.inCompute(), "\n"), "cancel request")
	w.Nodes("alpha-a3-0", scenetest.PoweredDown)
	w.Snap.Reservations = w.Snap.Reservations[:1]
	w.job().Reservation, w.job().Reason = "", "ReqNodeNotAvail, May be reserved for other job"
	w.planned("alpha-a3-[2-3]")
	assert.Equal(t, "reserve alpha-a3-[0-1] from 2026-11-21T12:15:00Z\nhave job 7 use reservation NEW", strings.ReplaceAll(w.inSlurm(), newDoor("7"), "NEW"))
	assert.NotContains(t, strings.Join(w.inCompute(), "\n"), "request ")
}

package plan_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"slurmflex/slurm"
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

// For -N2-3, squeue shows three nodes and two CPUs; for -N3 at least three CPUs.
func TestJobWithARangeOfNodesKeepsItsRequestWithoutADoor(t *testing.T) {
	for cpus, cancelled := range map[int]bool{2: false, 3: true} {
		w := newWaitingPending()
		w.Requested(7, "alpha-a3-[0-1]", time.Hour)
		w.doorless()
		w.offDoor()
		w.job().NodeCount, w.job().CPUs = 3, cpus
		assert.Equal(t, cancelled, strings.Contains(w.inCompute(), "cancel request"), cpus)
	}
}

// slurmctld has lost its reservations with its state file, covers included (22.05 and 26.05).
func TestJobLeavesALostDoorAndKeepsItsRequest(t *testing.T) {
	w := newWaitingPending()
	w.Requested(7, "alpha-a3-[0-1]", time.Hour)
	w.Snap.Reservations = nil
	assert.Empty(t, w.inSlurm(), "Slurm would allocate nodes that no cover closes")
	w.reserve(coverName, -time.Second, "alpha-a3-[0-3]", "PURGE_COMP=00:16:00")
	assert.Equal(t, "have job 7 leave reservation DOOR", w.inSlurm())
	assert.NotContains(t, w.inCompute(), "cancel request")
	w.Snap.Unread = slurm.Unread{{Kind: slurm.ReservationRow, Why: "torn"}}
	assert.Empty(t, w.inSlurm(), "the door may be unreadable")
	w.Snap.Unread = nil
	w.job().Reservation, w.job().Reason = "", "Resources"
	assert.Equal(t, "reserve alpha-a3-[0-1] from 2026-11-21T12:15:00Z\nhave job 7 use reservation NEW", strings.ReplaceAll(w.inSlurm(), newDoor("7"), "NEW"))
	assert.NotContains(t, w.inCompute(), "cancel request")
}

// slurm.conf has lost the last node of the door, and slurmctld keeps the door over the others.
func TestDoorThatHasLostNodesIsDeleted(t *testing.T) {
	w := newWaitingPending()
	w.Requested(7, "alpha-a3-[2-3]", time.Hour)
	w.door().Nodes = []string{"alpha-a3-2"}
	w.Snap.Nodes = w.Snap.Nodes[:3]
	assert.Equal(t, "delete reservation DOOR", w.inSlurm())
	assert.NotContains(t, w.inCompute(), "request", "the request shows what the door lacks until the door is deleted")
	w.Snap.Reservations, w.job().Reservation = w.Snap.Reservations[:1], ""
	assert.Contains(t, w.inCompute(), "cancel request")
}

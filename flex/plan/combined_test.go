package plan_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"slurmflex/flex/plan"
	"slurmflex/flex/plan/memo"
	"slurmflex/flex/plan/scene"
	"slurmflex/flex/plan/sweeps"
	"slurmflex/slurm"
	"slurmflex/test/scenetest"
)

// Job 7 has waited 29 minutes for free nodes of us. For some seconds two machines of us are idle
// (keep_idle), and a more important job gets them. The clock of on_demand_after must not stop.
func TestIdleMachinesForAnotherJobDoNotResetDearerAfter(t *testing.T) {
	w := newSeveralPlaces()
	w.crowded(29 * time.Minute)
	w.Config.FlexSetOf("alpha-us-0").Flex.KeepIdle = time.Hour
	w.Nodes("alpha-us-[0-1]", scenetest.Idle)
	w.covers("alpha-eu-[0-1],alpha-od-[0-1]")
	w.submit(8, "us") // more important
	assert.Equal(t, noon.Add(-29*time.Minute), w.plan().Crowded[7])
}

// Idle machines fit job 7, which has left its door for them; Slurm does not start it there, for
// example for its --constraint. Its door must not start by itself: five minutes later Slurm deletes
// it, and with it the request.
func TestDoorOfAJobThatIsOffItIsMovedAhead(t *testing.T) {
	w := newWaitingPending()
	w.keep()
	w.Nodes("alpha-a3-[2-3]", scenetest.Idle)
	w.covers("alpha-a3-[0-1]")
	w.job().Reservation = ""
	w.doorStarts(10 * time.Second)
	assert.Equal(t, "change reservation DOOR from 2026-11-21T12:15:00Z", w.inSlurm())
}

// A job without a time limit (no --time, and no MaxTime) fits no machine with a lease: Slurm starts
// it on no node that is reserved from the end of the lease on.
func TestUnlimitedJobDoesNotFitIdleMachinesWithALease(t *testing.T) {
	for name, limit := range map[string]slurm.Limit{"5 h": {Kind: slurm.LimitSet, Duration: 5 * time.Hour}, "unlimited": {Kind: slurm.Unlimited}} {
		w := newUnasked()
		w.keep()
		w.up("alpha-a3-[2-3]")
		w.Nodes("alpha-a3-[2-3]", scenetest.Idle)
		for i := range w.Snap.Instances {
			w.Snap.Instances[i].Terminates = noon.Add(3 * time.Hour)
		}
		w.reserve(memo.Reservation("alpha", noon.Add(3*time.Hour)), 3*time.Hour, "alpha-a3-[2-3]", "MAINT")
		w.covers("alpha-a3-[0-1]")
		w.job().Limit = limit
		assert.Contains(t, w.inSlurm(), "reserve alpha-a3-[0-1] from", name)
	}
}

// A door opens early if Slurm would otherwise power down machines that wait for those of another component.
func TestComponentIsNotLateWhileMachinesOfAnotherBoot(t *testing.T) {
	w := newSeveralPlaces()
	us, other := memo.DoorReservation("alpha", "7+0", noon.Add(-9*time.Minute)), memo.DoorReservation("alpha", "7+1", noon.Add(-9*time.Minute))
	od := w.another(8)
	od.HetID, od.HetOffset, od.Partition, od.Reservation = 7, 1, "od", other
	w.job().HetID, w.job().Partition, w.job().Reservation = 7, "us", us
	w.reserve(us, 14*time.Minute, "alpha-us-[0-1]")
	w.reserve(other, 14*time.Minute, "alpha-od-[0-1]")
	w.made("od", "IDLE+CLOUD+RESERVED")
	assert.Empty(t, sweeps.NearDoors(w.Scene()), "Slurm deletes an open door that no job uses after five minutes")
	w.Snap.Reservations[2].Start = noon.Add(-2 * time.Minute)
	assert.NotContains(t, w.reservations(), "delete")
	w.made("us", "IDLE+CLOUD+RESERVED")
	assert.Equal(t, "change reservation "+us+" from 2026-11-21T12:00:00Z", w.reservations())
}

// Slurm does not power down static nodes, however long they have been idle.
func TestDoorOverAStaticNodeIsMovedAhead(t *testing.T) {
	w := newWaitingPending()
	w.Config.FlexSetOf("alpha-a3-0").Static = 1
	w.Nodes("alpha-a3-0", "IDLE+CLOUD+RESERVED")
	w.Node("alpha-a3-0").LastBusyTime = noon.Add(-time.Hour)
	w.doorStarts(10 * time.Minute)
	assert.Equal(t, "change reservation DOOR from 2026-11-21T12:15:00Z", w.inSlurm())
}

// The door was made while the daemon's clock was ahead, or when the other partition still had
// jobs wait pending.
func TestDoorOpensIfAnotherComponentWaitsConfiguring(t *testing.T) {
	w := newSeveralPlaces()
	w.job().HetID = 7
	other := w.another(8)
	other.HetOffset, other.Partition, other.Reservation = 1, "od", ""
	w.job().Reservation = memo.DoorReservation("alpha", "7+0", noon.Add(-time.Minute))
	w.reserve(w.job().Reservation, 14*time.Minute, "alpha-us-[0-1]")
	assert.NotContains(t, w.inCompute(), "from 2026-11-21T12:00:00Z")
	for i := range w.Config.Partitions {
		w.Config.Partitions[i].Exclusive = w.Config.Partitions[i].Name != "od"
	}
	assert.Contains(t, w.inCompute(), "from 2026-11-21T12:00:00Z")
}

func TestComponentWithAPlanWaitsForTheOneWithout(t *testing.T) {
	w := severalPlacesOf(4)
	w.planned("alpha-us-[0-1]").HetID = 7
	other := w.another(8)
	other.HetOffset, other.Partition, other.Planned, other.Reason = 1, "eu", nil, "Resources"
	told := map[uint32]string{}
	for _, held := range plan.Compute(scene.Of(w.Config, w.Snap)).Held {
		told[held.Job] = held.Obstacle
	}
	assert.Equal(t, map[uint32]string{7: "another component of its job gets no nodes yet", 8: "Slurm has not planned it yet"}, told)
}

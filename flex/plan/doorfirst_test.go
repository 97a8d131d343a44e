package plan_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"slurmflex/flex/plan/memo"
	"slurmflex/flex/plan/scene"
	"slurmflex/slurm"
)

// made makes the door of job 7 that long ago.
func (w waitingPending) made(ago time.Duration) {
	w.door().Name = memo.DoorReservation("alpha", "7", noon.Add(-ago))
	w.job().Reservation = w.door().Name
}

func TestMachinesAreRequestedOnceSlurmHasSeenTheJobUseItsDoor(t *testing.T) {
	for name, test := range map[string]struct {
		given    func(w waitingPending)
		requests bool
	}{
		"it waits for its door":      {func(waitingPending) {}, true},
		"it uses no door":            {func(w waitingPending) { w.job().Reservation = "" }, false},
		"Slurm has not looked at it": {func(w waitingPending) { w.job().Reason = "None" }, false},
		"nor for a minute":           {func(w waitingPending) { w.made(time.Minute); w.job().Reason = "None" }, true},
		"it waits for another job":   {func(w waitingPending) { w.job().Reason = "Dependency" }, false},
		"it waits for a time":        {func(w waitingPending) { w.job().Reason, w.job().Start = slurm.BeginTime, noon.Add(time.Hour) }, false},
		"it starts soon":             {func(w waitingPending) { w.job().Reason, w.job().Start = slurm.BeginTime, noon.Add(2*time.Minute) }, true},
		"a node is drained":          {func(w waitingPending) { w.Nodes("alpha-a3-1", "IDLE+CLOUD+DRAIN+POWERED_DOWN") }, false},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWaitingPending()
			w.made(30 * time.Second)
			test.given(w)
			p := w.plan()
			assert.Equal(t, test.requests, len(asked(p)) > 0)
			assert.Equal(t, test.requests, p.Needed["alpha-a3-0"], "a request that is still to be sent")
		})
	}
}

func TestRequestUnderWayIsNeededOnlyWhileItsJobLacksNodes(t *testing.T) {
	w := newWaitingPending()
	w.Snap.Asking = map[string]bool{"alpha-a3-0": true, "alpha-a3-1": true}
	p := w.plan()
	assert.Empty(t, asked(p))
	assert.True(t, p.Needed["alpha-a3-0"] && p.Needed["alpha-a3-1"])
	w.job().Reason = "Dependency"
	assert.Empty(t, w.plan().Needed)
}

func TestAdminCommentNamesNoObstacleOnceMachinesAreUnderWay(t *testing.T) {
	const turn, queued = "waiting for its turn: place 3 of 4", "waiting since 2026-11-21T11:00:00Z for 2 × a3-highgpu-8g for 01:00:00"
	for _, test := range []struct {
		told    string
		asked   bool
		written bool
	}{{turn, true, true}, {queued, true, false}, {memo.Booting, true, false}, {turn, false, false}} {
		w := newWaitingPending()
		w.Snap.Told = map[uint32]string{7: memo.OwnComment + test.told}
		if test.asked {
			w.Requested(7, "alpha-a3-[0-1]", 30*time.Second)
		}
		got := w.all()
		assert.Equal(t, test.written, strings.Contains(got, "waiting for its machines, which are requested or boot"), "%+v: %s", test, got)
	}
}

// J4: on 22.05, a job cannot use a reservation if the controller does not know its user.
func TestJobThatMayNotUseItsDoorLosesItAndBuysNothing(t *testing.T) {
	w := newWaitingPending()
	w.job().Reservation, w.job().User = "", "nobody"
	w.Snap.Late = map[uint32]scene.Late{7: {Until: noon.Add(time.Minute), Refused: "Access denied to requested reservation for job 7", Unusable: true}}
	assert.Equal(t, "delete reservation DOOR", w.inSlurm())
	p := w.plan()
	assert.Empty(t, asked(p))
	assert.Equal(t, "slurmctld does not let it use the nodes that are reserved for it: "+
		"submit the job as a user whom the controller knows, or ask an admin (Access denied to requested reservation for job 7)", p.Held[0].Obstacle)
	w.Snap.Late[7] = scene.Late{Until: noon.Add(time.Minute), Refused: "Cannot modify scrontab jobs through scontrol", Unusable: true}
	assert.Contains(t, w.plan().Held[0].Obstacle, "for it: have the scrontab entry run sbatch (")
	w.job().Reservation = w.door().Name
	assert.Empty(t, w.inSlurm(), "it uses the door after all")
}

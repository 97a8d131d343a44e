package history

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"slurmflex/flex/plan/memo"
	"slurmflex/mig"
	"slurmflex/slurm"
)

const (
	behind = "IDLE+CLOUD+RESERVED" // a registered node behind a door
	winner = "alpha-g2-0"
)

// door reserves nodes for a job from that time on.
func (w *world) door(job, node string, made, start time.Time) *slurm.Reservation {
	w.Snap.Reservations = append(w.Snap.Reservations, slurm.Reservation{
		Name: memo.DoorReservation("alpha", job, made), Start: start, End: start.Add(365 * 24 * time.Hour), Nodes: []string{node},
	})
	return &w.Snap.Reservations[len(w.Snap.Reservations)-1]
}

// racing returns a world with job 812, which waits PENDING in partitions train and other. The
// machine in train was created at noon. No machine was created in other.
func racing(t *testing.T) *world {
	w := newWorld(t)
	w.asked(mig.Succeeded, at(-60), node)
	w.Nodes(node, behind)
	w.Nodes(winner, rising)
	w.door("812", node, at(-60), at(5))
	w.door("812", winner, noon.Add(-time.Hour+time.Second), at(5))
	w.pending(812).Partition = "train,other"
	w.Machine(node, group)
	w.look(0)
	return w
}

// decided returns a race that the job has won in other, 10 minutes after noon. Its door in train is
// gone.
func decided(t *testing.T) *world {
	w := racing(t)
	w.Snap.Reservations = nil
	w.job(812, slurm.JobRunning, at(10), winner)
	w.later(10)
	return w
}

func TestLosingMachineIsLostUntilItsDeletion(t *testing.T) {
	w := decided(t)
	_, ongoing := w.all(Lease)
	assert.EqualValues(t, 10*60, ongoing[0].RaceLost)
	w.Snap.Jobs = nil // the job ends while its machine in train is deleted
	w.later(2)
	w.restart()
	w.later(1)
	e := w.ended()
	assert.EqualValues(t, 13*60, e.RaceLost)
	assert.Equal(t, e.Took(), e.RaceLost)
}

func TestLosingMachineIsLostUntilAnotherJobGetsIt(t *testing.T) {
	happens(t, decided, map[string]func(*world){
		"a door over it": func(w *world) {
			w.pending(815)
			w.door("815", node, w.Snap.Now, w.Snap.Now.Add(5*time.Minute))
		},
		"its node from Slurm": func(w *world) {
			w.Nodes(node, busy)
			w.running(815, w.Snap.Now)
		},
	}, func(w *world) {
		w.later(1)
		w.Nodes(node, busy)
		w.Snap.Reservations = nil
		w.running(815, w.Snap.Now)
		w.later(60)
		w.Snap.Jobs = nil
		w.Nodes(node, free)
		w.later(60)
		assert.EqualValues(w, 11*60, w.ended().RaceLost)
	})
}

func TestJobAboutToStartUsesOnlyTheMachinesThatItStartsOn(t *testing.T) {
	w := racing(t)
	w.Nodes(winner, behind)
	w.Snap.Reservations[1].Start = w.Snap.Now
	w.pending(812).Reservation = w.Snap.Reservations[1].Name
	w.later(1)
	w.Snap.Reservations = nil
	w.job(812, slurm.JobRunning, w.Snap.Now, winner)
	w.look(time.Second)
	e := w.ended()
	assert.Empty(t, e.Uses)
	assert.Positive(t, e.RaceLost)
}

func TestOtherMachinesAreNotLost(t *testing.T) {
	happens(t, racing, map[string]func(*world){
		"the job starts on the machine": func(w *world) { w.running(812, w.Snap.Now) },
		"the job starts on other machines of the nodeset": func(w *world) {
			w.Nodes("alpha-a3-2", busy)
			w.job(812, slurm.JobRunning, w.Snap.Now, "alpha-a3-2")
		},
		"another job gets the machine before the job starts elsewhere": func(w *world) {
			w.Snap.Reservations = w.Snap.Reservations[1:]
			w.running(815, w.Snap.Now)
			w.look(0)
			w.job(812, slurm.JobRunning, w.Snap.Now, winner)
		},
		"the job has used the machine before it runs elsewhere": func(w *world) {
			w.running(812, w.Snap.Now)
			w.look(0)
			w.pending(812)
			w.look(0)
			w.job(812, slurm.JobRunning, w.Snap.Now, winner)
		},
	}, func(w *world) {
		w.Nodes(node, busy)
		w.later(1)
		w.Snap.Jobs = nil
		w.Nodes(node, free)
		w.later(1)
		assert.Zero(w, w.ended().RaceLost)
	})
}

// A bill also charges the cost of a machine before its job starts.
func TestLeaseOfAPendingJobHasAccountAndPartition(t *testing.T) {
	w := newWorld(t)
	w.accounts[812] = "ml"
	w.Nodes(node, behind)
	w.door("812", node, at(-60), at(5))
	w.pending(812).Partition = "other,train"
	w.asked(mig.Accepted, noon, node)
	w.look(0)
	_, waits := w.all(Wait)
	assert.Equal(t, ada, waits[0].Who)
	w.asked(mig.Succeeded, noon, node)
	w.Machine(node, group)
	w.later(1)
	assert.Equal(t, ada, w.ended().Who)
}

package history

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"slurmflex/flex/leader"
	"slurmflex/flex/plan/memo"
	"slurmflex/mig"
	"slurmflex/slurm"
	"slurmflex/test/scenetest"
)

const node = "alpha-a3-1"

// booting returns a world with a machine that was created at noon for job 812.
func booting(t *testing.T) *world {
	w := newWorld(t)
	w.asked(mig.Succeeded, at(-60), node)
	w.Nodes(node, rising)
	w.job(812, slurm.JobConfiguring, noon, node)
	w.Machine(node, group)
	w.look(0)
	return w
}

func TestEachSecondOfALeaseIsCountedOnce(t *testing.T) {
	w := booting(t)
	w.later(2)
	w.Nodes(node, busy)
	w.later(1) // registered, and its job is about to start
	w.running(812, at(4))
	w.later(2)
	w.later(60)
	w.Snap.Jobs = nil
	w.Nodes(node, free)
	w.look(0)
	w.later(10)
	assert.Empty(t, w.newsOf(LeaseEnded))
	w.gone()
	e := w.ended()
	assert.Equal(t, []News{{What: LeaseEnded, Entry: e}}, w.newsOf(LeaseEnded), "once")
	want, who := used("us-central1-a/alpha-a3-1@1795262400"), Who{Job: 812, User: "ada", Partition: "train"}
	want.Who, want.Booting, want.To, want.Uses = who, 240, minutes(75), []Use{{Who: who, From: minutes(4), To: minutes(65)}}
	assert.Equal(t, want, e)
}

// bootingBehindADoor returns a world with a machine that was created at noon for job 812, which
// waits pending.
func bootingBehindADoor(t *testing.T) *world {
	w := newWorld(t)
	w.asked(mig.Succeeded, at(-60), node)
	w.Nodes(node, scenetest.PoweredDown)
	name := memo.DoorReservation("alpha", "812", at(-60))
	j := w.pending(812)
	j.NodeCount, j.Priority, j.Reservation = 1, 1, name
	w.Snap.Reservations = []slurm.Reservation{{Name: name, Start: at(5), End: at(60), Nodes: []string{node}}}
	w.Machine(node, group)
	w.look(0)
	return w
}

// opens registers the machine behind the door and opens the door.
func (w *world) opens() {
	w.Nodes(node, free+"+RESERVED")
	w.Snap.Reservations[0].Start = w.Snap.Now
}

// U14: a job of a few seconds is never observed running.
func TestShortJobBehindADoorHasUsedItsMachine(t *testing.T) {
	w := bootingBehindADoor(t)
	w.opens()
	w.later(2)
	w.Snap.Jobs, w.Snap.Reservations = nil, nil
	w.look(8 * time.Second)
	e := w.ended()
	assert.EqualValues(t, 120, e.Booting)
	assert.EqualValues(t, 8, covered(e.Uses))
	require.Len(t, e.Uses, 1)
	assert.EqualValues(t, 812, e.Uses[0].Job)
}

func TestJobThatDoesNotStartUsesNoMachine(t *testing.T) {
	w := bootingBehindADoor(t)
	w.opens()
	w.later(2)
	w.Snap.Reservations, w.Snap.Jobs[0].Reservation = nil, ""
	w.look(41 * time.Second)
	assert.Empty(t, w.ended().Uses)
}

func TestUnusedLeaseHasNoJobs(t *testing.T) {
	happens(t, booting, map[string]func(*world){
		"the machine does not boot": func(*world) {},
		"other nodes of the job are missing": func(w *world) {
			w.Nodes(node, busy)
			w.job(812, slurm.JobConfiguring, noon, node, "alpha-a3-2")
		},
		"the machine is stopped before the boot": func(w *world) { w.Snap.Instances[0].Status = "TERMINATED" },
	}, func(w *world) {
		w.later(10)
		e := w.ended()
		assert.Empty(w, e.Uses)
		assert.EqualValues(w, 600, e.Took())
		assert.EqualValues(w, 812, e.Job)
	})
}

func TestLeaseEndsAtItsTermEvenIfObservedLater(t *testing.T) {
	w := booting(t)
	w.Snap.Instances[0].Terminates = at(60)
	w.running(812, at(1))
	w.later(50)
	w.Snap.Instances = nil
	w.later(60)
	w.later(60)
	e := w.only(Lease)
	assert.Equal(t, minutes(60), e.To)
	assert.EqualValues(t, 59*60, covered(e.Uses))
}

// The first line with an ID counts, so a lease that ended too early would stay short in the bill.
func TestUnreadRecordDoesNotEndALease(t *testing.T) {
	w := booting(t)
	w.running(812, at(3))
	w.later(4)
	readable := w.Snap.Instances[0]
	w.Snap.Instances[0].Created, w.Snap.Instances[0].Unread = time.Time{}, "creationTimestamp"
	for range 3 {
		w.later(1)
	}
	w.Snap.Instances[0] = readable
	w.look(4 * time.Hour)
	w.Snap.Jobs = nil
	e := w.ended()
	assert.EqualValues(t, 4*3600+7*60, e.Took())
	assert.Equal(t, e.Took()-180, covered(e.Uses))
}

func TestUnreadRecordOfALaterMachineEndsTheLease(t *testing.T) {
	w := booting(t)
	w.later(1)
	w.Snap.Instances[0].Created, w.Snap.Instances[0].Unread = w.Snap.Now, "status NEW is unknown"
	w.later(1)
	w.later(2)
	lost := w.only(Lease)
	assert.EqualValues(t, 120, lost.Took())
}

// returns makes the first looks of this host after another one has made the passes.
func (w *world) returns(after time.Duration) {
	w.recorder.stood(leader.ErrStandby)
	w.look(after)
	w.later(2)
}

func TestLeaseThatLastsBeyondStandbyIsContinued(t *testing.T) {
	w := booting(t)
	w.running(812, at(1))
	w.later(10)
	w.Snap.Jobs = nil
	w.later(60)
	w.returns(time.Hour)
	lease := w.ended()
	assert.EqualValues(t, 132*60, lease.Took())
	assert.Len(t, lease.Uses, 1)
}

func TestLeaseThatWasGoneBeforeStandbyGetsItsLine(t *testing.T) {
	w := booting(t)
	w.Snap.Instances = nil
	w.later(60)
	w.returns(5 * 24 * time.Hour)
	lease := w.only(Lease)
	assert.EqualValues(t, 3600, lease.Took())
}

// The other host writes to the same folder.
func TestLeaseThatEndsAtATakeoverBackGetsItsLine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(noon))
		w := booting(t)
		time.Sleep(30 * time.Minute)
		w.later(30)
		time.Sleep(time.Second)
		w.recorder.stood(leader.ErrStandby)

		a := w.recorder
		w.restart()
		w.recorder.stood(leader.ErrStandby)
		w.later(60)
		w.later(60)

		w.recorder = a
		lease := w.ended()
		assert.EqualValues(t, 150*60, lease.Took())
	})
}

// An account may have 255 characters. The reader skips a line that is too long, and the bill would
// lack the lease.
func TestLeaseWithManyJobsIsCutIntoLines(t *testing.T) {
	w := booting(t)
	const looks, atOnce = 81, 25 // more than two lines have place for
	for look := range uint32(looks) {
		w.Snap.Jobs = nil
		for id := range uint32(atOnce) {
			job := 1000 + look*atOnce + id
			w.accounts[job] = strings.Repeat(`<"`, 127)
			w.running(job, w.Snap.Now)
		}
		w.look(30 * time.Second)
	}
	w.Snap.Jobs = nil
	w.gone()
	lines := w.read(Lease)
	require.Len(t, lines, 3)
	var took, used, uses int64
	ids := map[string]bool{}
	for i, e := range lines {
		took += e.Took()
		used += covered(e.Uses)
		uses += int64(len(e.Uses))
		ids[e.ID] = true
		assert.LessOrEqual(t, len(e.Uses), maxUses)
		if i > 0 {
			assert.Equal(t, lines[i-1].To, e.From)
			assert.Zero(t, e.Booting)
		}
	}
	assert.Len(t, ids, 3)
	assert.EqualValues(t, looks*30, took)
	assert.EqualValues(t, (looks+2)*atOnce, uses, "jobs that run across a cut are in both lines")
	assert.Equal(t, took, used)
}

// The parts of every line must add up to the whole, whatever the passes observe.
func TestRandomLivesHaveConsistentLines(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		w := booting(t)
		w.Snap.Now = w.ago(time.Duration(rapid.IntRange(0, 600).Draw(r, "behind")) * time.Second)
		states := []string{rising, busy, free, "DOWN+CLOUD", "IDLE+CLOUD+POWERING_DOWN"}
		jobStates := []slurm.JobState{slurm.JobConfiguring, slurm.JobRunning, slurm.JobCompleting, slurm.JobPending}
		for range rapid.IntRange(1, 12).Draw(r, "looks") {
			w.Nodes(node, rapid.SampledFrom(states).Draw(r, "state"))
			w.Snap.Jobs = nil
			for id := range rapid.Uint32Range(0, 3).Draw(r, "jobs") {
				start := w.ago(time.Duration(rapid.IntRange(-60, 7200).Draw(r, "start")) * time.Second)
				w.job(812+id, rapid.SampledFrom(jobStates).Draw(r, "job state"), start, node)
			}
			if rapid.Bool().Draw(r, "restart") {
				w.restart()
			}
			w.look(time.Duration(rapid.IntRange(0, 600).Draw(r, "later")) * time.Second)
		}
		ends := max(At(w.Snap.Now), At(noon))
		w.gone()
		e := w.only(Lease) // reading checks the line
		require.Equal(r, ends-At(noon), e.To-e.From, fmt.Sprint(e))
	})
}

func TestOngoingLeaseCountsUpToTheLastPass(t *testing.T) {
	w := booting(t)
	w.Nodes(node, busy)
	w.running(812, at(3))
	w.later(3)
	for range 10 * 12 {
		w.later(5) // ten hours without a change
	}
	_, ongoing := w.all(Lease)
	require.Len(t, ongoing, 1)
	assert.EqualValues(t, 600*60, covered(ongoing[0].Uses))
	require.NoError(t, Append(w.dir, "alpha", false, ongoing))
	lines, ongoing := w.all(Lease)
	assert.Len(t, lines, 1, "the file of ongoing leases is older than the line")
	assert.Empty(t, ongoing)
}

func TestLeaseEndsAfterItsRegionHasLeftTheConfiguration(t *testing.T) {
	tests := map[string]struct {
		gone bool
		ends time.Duration
	}{
		"gone before":        {true, time.Minute},
		"at the lease's end": {false, 3 * time.Hour},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			w := booting(t)
			w.later(60)
			if test.gone {
				w.Snap.Instances = nil
				w.later(2)
			}
			w.Snap.Jobs = nil
			w.Config = scenetest.Cluster("partitions:\n  train: {partition_nodeset: [a3]}", scenetest.FlexSet("a3", "europe-west4-b", "node_count_dynamic_max: 9", ""))
			w.Snap.Instances, w.Snap.Groups = nil, nil
			w.restart()
			w.look(test.ends - 30*time.Second)
			_, ongoing := w.all(Lease)
			assert.Len(t, ongoing, 1)
			w.later(60)
			w.later(60)
			lines, ongoing := w.all(Lease)
			assert.Len(t, lines, 1)
			assert.Empty(t, ongoing)
		})
	}
}

package history

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"slurmflex/flex/plan/demand"
	"slurmflex/flex/plan/memo"
	"slurmflex/flex/plan/scene"
	"slurmflex/flex/view"
	"slurmflex/mig"
	"slurmflex/slurm"
	"slurmflex/test/scenetest"
)

// failed is a failed attempt.
var failed = demand.Wait{Stage: demand.Waiting, Failed: 1, Trouble: mig.Trouble{Cause: mig.CauseConfig}}

// A job that waits PENDING lacks nodes in Slurm, but has doors over the nodes of its machines.
func TestPendingJobStoryHasItsRequests(t *testing.T) {
	w := newQueueWorld()
	waits := pends()
	waits.NodeCount = 3 // the most of a range
	behindDoors := func(sees seen) seen {
		return func(w *queueWorld) {
			w.Snap.Reservations = []slurm.Reservation{{
				Name: memo.DoorReservation("alpha", "812", noon), Nodes: names("n[0-1]"), Start: w.Snap.Now.Add(5 * time.Minute), End: w.Snap.Now.Add(time.Hour),
			}}
			sees(w)
		}
	}
	w.see(0, nil, waits)
	w.see(3, behindDoors(lacking(failed)), waits)
	w.see(5, behindDoors(lacking(demand.Wait{Stage: demand.Queued, Request: "a2"})), waits)
	w.see(9, behindDoors(bothAre(view.Booting, at(8))), waits)
	w.see(11, behindDoors(bothAre(view.Idle, at(8))), waits)
	w.see(12, bothAre(view.Running, at(8)), runs(12))
	w.see(20, bothAre(view.Idle, at(8)), waits)
	assert.Equal(t, []string{
		"12:00 seen in Slurm's queue ", "12:03 attempt failed attempt 1: configuration", "12:04 machines requested 2 nodes for 01:00:00 in us-central1 (g812/a2)",
		"12:08 machines created 2 of 2 nodes", "12:11 nodes up n[0-1]", "12:12 running on n[0-1]", "12:20 back in Slurm's queue ",
	}, w.events())
	assert.Equal(t, []view.Machines{{Type: "a3-highgpu-8g", Count: 2}}, w.story("812").Events[5].Machines)
}

func TestRepeatedFailureIsInTheStoryOnce(t *testing.T) {
	w := newQueueWorld()
	fails := demand.Wait{Stage: demand.Waiting, Trouble: mig.Trouble{Cause: mig.CauseUnknown}}
	for minute := range 3 {
		fails.Failed, fails.Failing = minute+2, scene.Failing{Times: minute + 2, Since: at(1)}
		w.see(minute+2, lacking(fails), job(slurm.JobConfiguring, "n[0-1]", at(0)))
	}
	assert.Equal(t, "12:01 attempt failed failing for now (unknown cause)", w.events()[1])
	assert.Len(t, w.events(), 3)
}

func TestRequeuedJobThatLeavesItsNodesDoesNotRunAgain(t *testing.T) {
	w := newQueueWorld()
	w.see(9, bothAre(view.Running, at(4)), job(slurm.JobCompleting, "n[0-1]", at(5)))
	w.see(10, bothAre(view.Running, at(4)), job(slurm.JobCompleting, "n0", at(9)))
	w.see(11, nil, pends())
	w.see(15, bothAre(view.Running, at(12)), job(slurm.JobCompleting, "n[0-1]", at(13)))
	var runs []string
	for _, e := range w.events() {
		if strings.Contains(e, view.EventRunning) {
			runs = append(runs, e)
		}
	}
	assert.Equal(t, []string{"12:05 running on n[0-1]", "12:13 running on n[0-1]"}, runs)
}

// U3: the story shows the signal that was sent.
func TestJobStoryHasItsSignal(t *testing.T) {
	w := newQueueWorld()
	running := runs(5)
	w.see(9, bothAre(view.Running, at(4)), running)
	w.Snap.Told[812] = "flex-start: its nodes end at 2026-11-21T12:30:00Z, before its time limit; warned at 2026-11-21T12:20:00Z with USR1"
	w.see(21, bothAre(view.Running, at(4)), running)
	w.see(22, bothAre(view.Running, at(4)), running)
	told := w.events()
	assert.Equal(t, "12:20 signalled USR1, because its nodes end before its time limit", told[len(told)-1])
	assert.Equal(t, w.Snap.Told[812], w.story("812").Job.Told)
}

func TestRequeuedJobStartsOver(t *testing.T) {
	w := newQueueWorld()
	held := pends()
	held.Reason = "BeginTime"
	lose := func(w *queueWorld) {
		w.Nodes("alpha-a3-[0-1]", scenetest.Busy)
		w.plan.Losses = []scene.Loss{{NodeSet: "a3", Region: scenetest.US, Nodes: names("n[0-1]"), Cause: scene.Gone}}
	}
	w.see(0, bothAre(view.Running, at(-5)), runs(-2))
	w.see(5, lose, runs(-2))
	w.see(7, nil, held)
	w.see(8, nil, held)
	w.see(9, bothAre(view.Running, at(8)), runs(9))
	assert.Equal(t, []string{
		"11:55 machines created 2 of 2 nodes", "11:58 running on n[0-1]",
		"12:04 machines requested 2 nodes for 01:00:00 in us-central1 (g812/a2)", "12:05 machines lost the machines of n[0-1] are gone: deleted by somebody, or lost by Google",
		"12:07 back in Slurm's queue BeginTime", "12:08 machines created 2 of 2 nodes", "12:09 running on n[0-1]",
	}, w.events())
}

func TestOnlyNewMachinesAreCreatedForAJob(t *testing.T) {
	w := newQueueWorld()
	w.see(3, func(w *queueWorld) {
		machines("n0", view.Starting, at(-9), "g700")(w)
		machines("n1", view.Booting, at(2), "g701")(w)
	}, job(slurm.JobConfiguring, "n[0-1]", at(1)))
	assert.Equal(t, []string{"12:01 nodes allocated n[0-1]", "12:02 machines created 1 of 2 nodes"}, w.events())
}

func TestJobWithUnreadableRowHasNotEnded(t *testing.T) {
	w := newQueueWorld()
	w.see(0, nil, pends())
	for _, name := range []string{"812", ""} {
		w.see(1, func(w *queueWorld) { w.Snap.Unread = []slurm.UnreadRow{{Kind: slurm.JobRow, Name: name}} })
		assert.Empty(t, w.ended)
		assert.Equal(t, "train", w.story("812").Job.Partition, "as last seen")
	}
	w.see(2, nil)
	assert.Len(t, w.ended, 1)
}

func TestNumberOfStoriesIsLimited(t *testing.T) {
	w := newQueueWorld()
	var many []slurm.Job
	for id := range mostJobs + 10 {
		j := pends()
		j.ID, j.ArrayID = uint32(id+1), uint32(id+1)
		many = append(many, j)
	}
	w.see(1, nil, many...)
	assert.Len(t, w.stories.Jobs, mostJobs)
	placed := runs(1)
	placed.ID, placed.ArrayID = mostJobs+11, mostJobs+11
	many = append(many, placed)
	w.see(1, nil, many...)
	assert.NotNil(t, w.story(fmt.Sprint(placed.ID)), "a job with nodes has a story")
	w.see(2, nil, many[5:]...)
	assert.Len(t, w.ended, 5)
	w.see(3, nil, many[5:]...)
	assert.NotNil(t, w.story(fmt.Sprint(mostJobs+4)))
}

// A job runs for ten hours and is requeued; its next requests fail sixty times.
func TestLongStoryKeepsItsRuns(t *testing.T) {
	w := newQueueWorld()
	w.see(-599, nil, pends())
	w.see(-590, bothAre(view.Running, at(-601)), runs(-600))
	w.see(0, nil, pends())
	for n := range 62 {
		w.see(1+10*n, lacking(demand.Wait{Stage: demand.Waiting, Failed: n + 1, Trouble: mig.Trouble{Cause: mig.CauseCapacity}}), job(slurm.JobConfiguring, "n[0-1]", at(1)))
	}
	assert.Len(t, w.events(), mostEvents)
	assert.Subset(t, w.events(), []string{"02:00 running on n[0-1]", "12:00 back in Slurm's queue "})
}

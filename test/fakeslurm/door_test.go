package fakeslurm

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"slurmflex/slurm"
	"slurmflex/slurm/scontrol"
)

// door reserves nodes for one job, from so many seconds on.
func (w *world) door(name, nodes string, seconds int) {
	w.t.Helper()
	w.scontrol(doorText(name, nodes, seconds))
}

func doorText(name, nodes string, seconds int) string {
	return fmt.Sprintf("create reservation reservationname=%s nodes=%s starttime=now+%d duration=infinite users=root flags=overlap,no_hold_jobs_after", name, nodes, seconds)
}

// behindCover is a world whose nodes a0 to a3 are closed.
func behindCover(t *testing.T, version string, change ...func(*Options)) *world {
	w := newWorld(t, version, change...)
	w.cover("C", "a[0-3]")
	return w
}

// gang is a job of an hour on so many nodes.
func gang(nodes int) JobSpec {
	return JobSpec{Partition: "train", Nodes: nodes, Limit: time.Hour, Run: 10 * time.Minute}
}

func TestJobStartsOnItsDoorsNodes(t *testing.T) {
	for _, version := range Releases() {
		w := behindCover(t, version)
		rival, id := w.submit(gang(1)), w.submit(gang(2))
		w.door("H", "a[2-3]", 300)
		w.scontrol(fmt.Sprintf("update jobid=%d reservationname=H", id))
		w.powered("a[2-3]")
		w.pass(time.Minute)
		w.waits(id, "Reservation")
		w.scontrol("update reservationname=H starttime=now+300")
		w.pass(4 * time.Minute)
		w.waits(id, "Reservation")
		w.says("Requested reservation is in use", "delete reservationname=H")
		w.powered("a[2-3]")
		w.scontrol("update reservationname=H starttime=now")
		w.pass(time.Second)
		w.are(slurm.JobRunning, id)
		require.Equal(t, []string{"a2", "a3"}, w.queued(id).Nodes)
		w.waits(rival, reasonReserved)
		w.says("Reservation already started", "update reservationname=H starttime=now")
		w.scontrol(fmt.Sprintf("update jobid=%d reservationname=", id))
		w.scontrol("delete reservationname=H")
		w.are(slurm.JobRunning, id)
	}
}

func TestDoorThatIsReachedOpensByItself(t *testing.T) {
	w := behindCover(t, "24.11")
	warm, cold := w.submit(gang(1)), w.submit(gang(1))
	w.powered("a0")
	w.door("H", "a0", 20)
	w.door("K", "a1", 20)
	w.scontrol(fmt.Sprintf("update jobid=%d reservationname=H", warm))
	w.scontrol(fmt.Sprintf("update jobid=%d reservationname=K", cold))
	w.pass(19 * time.Second)
	w.are(slurm.JobPending, warm, cold)
	w.pass(3 * time.Second)
	w.are(slurm.JobRunning, warm)
	w.are(slurm.JobConfiguring, cold)
	require.Equal(t, []string{fmt.Sprintf("resume a1 for job %d", cold)}, w.programs())
}

func TestBusyNodesGetNoDoor(t *testing.T) {
	w := newWorld(t, "22.05")
	w.powered("a0")
	w.submit(train("a0"))
	w.pass(time.Second)
	w.says("Requested nodes are busy", doorText("H", "a[0-1]", 0))
	w.says("Requested nodes are busy", doorText("H", "a[0-1]", 300))
	w.door("H", "a[0-1]", 3700) // the job's limit is an hour
}

func TestJobThatDoesNotFitItsDoorWaits(t *testing.T) {
	without := gang(2)
	without.Exclude = []string{"a0"}
	for _, test := range []struct {
		name          string
		spec          JobSpec
		reason        string
		holdsBefore24 bool
	}{
		{"more nodes", gang(3), "None", false},
		{"another node", train("a3"), "Reservation", true},
		{"not its node", without, "Resources", true},
	} {
		onEachRelease(t, func(t *testing.T, w *world) {
			w.cover("C", "a[0-3]")
			w.powered("a[0-1]")
			w.door("H", "a[0-1]", 0)
			id := w.submit(test.spec)
			before := w.queued(id).Priority
			w.scontrol(fmt.Sprintf("update jobid=%d reservationname=H", id))
			w.pass(time.Minute)
			held := w.o.Version == "22.05" && test.holdsBefore24
			if held {
				w.waits(id, "BadConstraints")
				require.Zero(t, w.queued(id).Priority)
			} else {
				w.waits(id, test.reason)
				require.Equal(t, before, w.queued(id).Priority)
			}
			w.scontrol(fmt.Sprintf("update jobid=%d reservationname=", id))
			w.pass(time.Second)
			w.waits(id, reasonReserved)
			require.NotZero(t, w.queued(id).Priority)
			require.Equal(t, held, w.queued(id).Priority != before, test.name)
		})
	}
}

func TestOnlyALiveJobOfTheDoorsUserUsesIt(t *testing.T) {
	w := behindCover(t, "24.11")
	w.door("H", "a0", 300)
	other := gang(1)
	other.User = "ada"
	id, over := w.submit(other), w.submit(gang(1))
	w.says("Access denied to requested reservation", fmt.Sprintf("update jobid=%d reservationname=H", id))
	require.NoError(t, w.Cancel(over))
	require.ErrorIs(t, w.Scontrol(t.Context(), fmt.Sprintf("update jobid=%d reservationname=H", over)), scontrol.ErrJobEnded)
	require.ErrorIs(t, w.Scontrol(t.Context(), "update jobid=99 reservationname=H"), scontrol.ErrUnknownJob)
	require.ErrorIs(t, w.Scontrol(t.Context(), fmt.Sprintf("update jobid=%d reservationname=K", id)), scontrol.ErrUnknownReservation)
	w.scontrol("delete reservationname=H")
}

func TestHeldJobStartsInItsDoorOnceReleased(t *testing.T) {
	w := behindCover(t, "24.11")
	w.powered("a0")
	id := w.submit(gang(1))
	require.NoError(t, w.HoldJob(t.Context(), id))
	w.door("H", "a0", 0)
	w.scontrol(fmt.Sprintf("update jobid=%d reservationname=H", id))
	w.pass(time.Minute)
	w.waits(id, "JobHeldAdmin")
	require.NoError(t, w.Release(id))
	w.pass(time.Second)
	w.are(slurm.JobRunning, id)
}

func TestRequeuedJobWaitsInItsDoorForALostNode(t *testing.T) {
	w := behindCover(t, "24.11", func(o *Options) { o.Partitions[0].PowerDownOnIdle, o.SuspendTime = false, 0 })
	w.powered("a[0-1]")
	id := w.submit(gang(2))
	w.door("H", "a[0-1]", 0)
	w.scontrol(fmt.Sprintf("update jobid=%d reservationname=H", id))
	w.pass(time.Second)
	w.are(slurm.JobRunning, id)
	w.Silence("a0")
	require.NoError(t, w.refused("a0", "down", "dead"))
	w.pass(5 * time.Minute)
	w.waits(id, "ReqNodeNotAvail, UnavailableNodes:a0")
	w.scontrol(fmt.Sprintf("update jobid=%d reservationname=", id))
	w.scontrol("delete reservationname=H")
	require.NoError(t, w.DeleteReservation(t.Context(), "C"))
	w.pass(time.Second)
	w.are(slurm.JobConfiguring, id)
}

func TestMaintenanceClosesADoorAndPlainReservationsDoNot(t *testing.T) {
	w := behindCover(t, "24.11")
	w.powered("a[0-1]")
	w.scontrol("create reservation reservationname=PLAIN nodes=a0 starttime=now duration=60 users=root flags=ignore_jobs")
	require.NoError(t, w.reserveFrom("eol", 30*time.Minute, "a1"))
	for i, want := range []string{"RUNNING None", "PENDING ReqNodeNotAvail, Reserved for maintenance"} {
		id := w.submit(gang(1))
		w.door(fmt.Sprint("H", i), fmt.Sprint("a", i), 0)
		w.scontrol(fmt.Sprintf("update jobid=%d reservationname=H%d", id, i))
		w.pass(time.Second)
		require.Equal(t, want, string(w.queued(id).State)+" "+w.queued(id).Reason)
	}
	w.says("overlaps with another reservation", "create reservation reservationname=P2 nodes=a0 starttime=now+300 duration=5 users=root")
}

func TestArrayTaskUsesADoorAndSqueueShowsItWithTheOthers(t *testing.T) {
	w := behindCover(t, "24.11")
	w.powered("a[0-1]")
	array := gang(1)
	array.Tasks = 5
	id := w.submit(array)
	w.pass(time.Second)
	w.door("H", "a0", 300)
	w.scontrol(fmt.Sprintf("update jobid=%d_2 reservationname=H", id))
	w.pass(time.Second)
	jobs := listed(w, w.Jobs)
	require.Len(t, jobs, 1)
	require.Equal(t, "0-4", jobs[0].ArrayTask)
	require.Empty(t, jobs[0].Reservation)
	require.Equal(t, reasonReserved+",Reservation", jobs[0].Reason)
	require.Equal(t, "H", w.JobReservation(id+1))
	w.scontrol("update reservationname=H starttime=now")
	w.pass(time.Second)
	w.are(slurm.JobRunning, id+1)
	require.Equal(t, "2", w.queued(id+1).ArrayTask)
	require.Equal(t, "0-1,3-4", w.queued(id).ArrayTask)
	w.says("Invalid job id specified", fmt.Sprintf("update jobid=%d_9 reservationname=H", id))
}

func TestComponentsUseADoorTogether(t *testing.T) {
	w := behindCover(t, "24.11")
	w.powered("a[0-1]")
	id, err := w.SubmitHet(gang(1), gang(1))
	require.NoError(t, err)
	w.door("H", "a[0-1]", 300)
	w.scontrol(fmt.Sprintf("update jobid=%d reservationname=H", id))
	w.pass(time.Second)
	w.waits(id, "Reservation")
	w.waits(id+1, "Reservation")
	w.scontrol("update reservationname=H starttime=now")
	w.pass(time.Second)
	w.are(slurm.JobRunning, id, id+1)
	require.NotEqual(t, w.queued(id).Nodes, w.queued(id+1).Nodes)
}

func TestCrashLosesWhatWasNotSaved(t *testing.T) {
	w := behindCover(t, "24.11")
	id := w.submit(gang(1))
	named := func(doorAgo, nameAgo time.Duration) (door, name bool) {
		w.door("H", "a0", 900)
		w.pass(doorAgo - nameAgo)
		w.scontrol(fmt.Sprintf("update jobid=%d reservationname=H", id))
		w.pass(nameAgo)
		w.Crash(4500 * time.Millisecond)
		door, name = w.reservation("H") != nil, w.JobReservation(id) == "H"
		require.NoError(t, w.SetJobReservation(t.Context(), id, ""))
		if door {
			w.scontrol("delete reservationname=H")
		}
		return door, name
	}
	for _, test := range []struct {
		doorAgo, nameAgo time.Duration
		door, name       bool
	}{
		{9 * time.Second, 6 * time.Second, true, true}, {9 * time.Second, 3 * time.Second, true, false}, {3 * time.Second, 2 * time.Second, false, false},
	} {
		door, name := named(test.doorAgo, test.nameAgo)
		require.Equal(t, []bool{test.door, test.name}, []bool{door, name}, "door %s, name %s ago", test.doorAgo, test.nameAgo)
	}
	require.NotNil(t, w.reservation("C"))
}

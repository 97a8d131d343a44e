package fakeslurm

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"slurmflex/slurm"
	"slurmflex/slurm/scontrol"
)

// door reserves nodes for one job, starting after this many seconds.
func (w *world) door(name, nodes string, seconds int) {
	w.t.Helper()
	w.scontrol(doorText(name, nodes, seconds))
}

func doorText(name, nodes string, seconds int) string {
	return fmt.Sprintf("create reservation reservationname=%s nodes=%s starttime=now+%d duration=infinite users=root flags=overlap,no_hold_jobs_after", name, nodes, seconds)
}

// behindCover returns a world with nodes a0 to a3 closed.
func behindCover(t *testing.T, version string, change ...func(*Options)) *world {
	w := newWorld(t, version, change...)
	w.cover("C", "a[0-3]")
	return w
}

// gang returns a one-hour job on this many nodes.
func gang(nodes int) JobSpec {
	return JobSpec{Partition: "train", Nodes: nodes, Limit: time.Hour, Run: 10 * time.Minute}
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

package fakeslurm

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"slurmflex/slurm"
	"slurmflex/slurm/scontrol"
)

// scontrol requires that a command succeeds.
func (w *world) scontrol(line string) {
	w.t.Helper()
	require.NoError(w.t, w.Scontrol(w.t.Context(), line))
}

// says requires that a command fails with these words.
func (w *world) says(words, line string) {
	w.t.Helper()
	require.ErrorContains(w.t, w.Scontrol(w.t.Context(), line), words)
}

// cover closes nodes to all jobs.
func (w *world) cover(name, nodes string) {
	w.t.Helper()
	w.scontrol("create reservation reservationname=" + name + " nodes=" + nodes + " starttime=now duration=infinite users=root " +
		"flags=ignore_jobs,overlap,no_hold_jobs_after,purge_comp=6")
}

// waits requires that a job is pending with this reason.
func (w *world) waits(id uint32, reason string) {
	w.t.Helper()
	j := w.queued(id)
	require.Equal(w.t, "PENDING "+reason, string(j.State)+" "+j.Reason, "job %d", id)
}

func TestMachineInsideTheCoverIsSuspendedForBeingIdle(t *testing.T) {
	w := newWorld(t, "24.11")
	w.cover("C", "a[0-3]")
	w.submit(train())
	w.boot("a0") // no job requested it
	w.shows("a0", "IDLE+CLOUD+RESERVED")
	w.pass(99 * time.Second)
	require.Empty(t, w.programs())
	w.pass(2 * time.Second)
	require.Equal(t, []string{"suspend a0"}, w.programs())
}

func TestRunningJobsStayInsideTheCover(t *testing.T) {
	w := newWorld(t, "22.05")
	w.powered("a0")
	running, configuring := w.submit(train("a0")), w.submit(train("a1"))
	w.pass(2 * time.Second)
	w.cover("C", "a[0-3]")
	w.boot("a1")
	w.pass(time.Minute)
	w.are(slurm.JobRunning, running, configuring)
	require.NoError(t, w.Cancel(running))
	next := w.submit(train())
	w.pass(time.Minute)
	w.waits(next, reasonReserved)
}

func TestScontrolRefusesWhatTheModelDoesNotKnow(t *testing.T) {
	w := newWorld(t, "24.11")
	const create = "create reservation reservationname=R nodes=a0 duration=5 users=root "
	for _, line := range []string{
		create + "flags=daily", create + "flags=purge_comp=x", create + "partition=train", create + "starttime=tomorrow",
		"create reservation reservationname=R nodes=a[0 duration=5", "show reservation", "update jobid=x reservationname=R",
	} {
		require.Error(t, w.Scontrol(t.Context(), line), line)
	}
	require.Empty(t, listed(w, w.Reservations))
	require.ErrorIs(t, w.Scontrol(t.Context(), "update reservationname=R flags+=overlap"), scontrol.ErrUnknownReservation)
	w.Down(nil)
	require.ErrorIs(t, w.Scontrol(t.Context(), strings.TrimSpace(create)), scontrol.ErrNoController)
}

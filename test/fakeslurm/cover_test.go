package fakeslurm

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"slurmflex/slurm/scontrol"
)

// scontrol requires that a command succeeds.
func (w *world) scontrol(line string) {
	w.t.Helper()
	require.NoError(w.t, w.Scontrol(w.t.Context(), line))
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

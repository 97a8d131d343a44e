package fakeslurm

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"slurmflex/slurm"
	"slurmflex/slurm/scontrol"
)

// reserveFrom creates a maintenance reservation of nodes, starting after in.
func (w *world) reserveFrom(name string, in time.Duration, nodes ...string) error {
	return w.CreateReservation(w.t.Context(), slurm.ReservationSpec{Name: name, Nodes: nodes, Start: w.now.Add(in), Lasts: time.Hour, Maint: true})
}

func TestActiveReservationMarksItsNodesAndStopsNoJob(t *testing.T) {
	w := newWorld(t, "24.11")
	w.powered("b[0-1]")
	running := w.submit(open("b0"))
	w.pass(time.Second)
	require.NoError(t, w.reserveFrom("eol", 10*time.Second, "b0", "b1"))
	w.pass(9 * time.Second)
	w.shows("b0", "MIXED+CLOUD")
	w.pass(2 * time.Second)
	w.shows("b0", "MIXED+CLOUD+MAINTENANCE+RESERVED")
	w.shows("b1", "IDLE+CLOUD+MAINTENANCE+RESERVED")
	w.pass(90 * time.Second)
	require.Equal(t, slurm.JobRunning, w.JobState(running))
	w.shows("b1", "IDLE+CLOUD+MAINTENANCE+RESERVED+POWERING_DOWN") // for being idle
	require.NoError(t, w.DeleteReservation(t.Context(), "eol"))
	w.pass(10 * time.Second)
	w.shows("b1", "IDLE+CLOUD+POWERED_DOWN")
}

func TestTemporaryReservationKeepsJobsOffUntilItEnds(t *testing.T) {
	w := newWorld(t, "24.11")
	require.NoError(t, w.CreateReservation(t.Context(), slurm.ReservationSpec{Name: "rest", Nodes: []string{"b0", "b1"}, Lasts: 5 * time.Minute}))
	id := w.submit(open("b0"))
	w.pass(4 * time.Minute)
	w.shows("b0", "IDLE+CLOUD+RESERVED+POWERED_DOWN+PLANNED") // backfill plans the job for the reservation's end
	require.Equal(t, slurm.JobPending, w.JobState(id))
	w.pass(2 * time.Minute)
	require.Equal(t, slurm.JobConfiguring, w.JobState(id))
	require.Empty(t, listed(w, w.Reservations))
}

func TestReservationEndsAtItsNewEnd(t *testing.T) {
	w := newWorld(t, "24.11")
	require.NoError(t, w.reserveFrom("eol", time.Minute, "a0"))
	w.now = w.now.Add(50 * time.Minute)
	require.NoError(t, w.SetReservation(t.Context(), "eol", slurm.ReservationChange{Nodes: []string{"a0"}, End: w.now.Add(time.Hour)}))
	w.pass(50 * time.Minute)
	w.shows("a0", "IDLE+CLOUD+MAINTENANCE+RESERVED+POWERED_DOWN")
	w.pass(11 * time.Minute)
	w.shows("a0", "IDLE+CLOUD+POWERED_DOWN")
	require.ErrorIs(t, w.DeleteReservation(t.Context(), "eol"), scontrol.ErrUnknownReservation)
}

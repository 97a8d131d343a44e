package fakeslurm

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"slurmflex/slurm"
	"slurmflex/slurm/scontrol"
)

// reserveFrom asks for nodes from a time on.
func (w *world) reserveFrom(name string, in time.Duration, nodes ...string) error {
	return w.CreateReservation(w.t.Context(), slurm.ReservationSpec{Name: name, Nodes: nodes, Start: w.now.Add(in), Lasts: time.Hour, Maint: true})
}

func TestAReservationThatHasBegunMarksItsNodesAndStopsNothing(t *testing.T) {
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

func TestAReservationThatClosesNodesForAWhileKeepsJobsOffAndEnds(t *testing.T) {
	w := newWorld(t, "24.11")
	require.NoError(t, w.CreateReservation(t.Context(), slurm.ReservationSpec{Name: "rest", Nodes: []string{"b0", "b1"}, Lasts: 5 * time.Minute}))
	id := w.submit(open("b0"))
	w.pass(4 * time.Minute)
	w.shows("b0", "IDLE+CLOUD+RESERVED+POWERED_DOWN+PLANNED") // backfill plans the job for its end
	require.Equal(t, slurm.JobPending, w.JobState(id))
	w.pass(2 * time.Minute)
	require.Equal(t, slurm.JobConfiguring, w.JobState(id))
	require.Empty(t, listed(w, w.Reservations))
}

func TestReservationEndsWhereItWasMovedTo(t *testing.T) {
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

func TestWhatIsWrongWithAReservationIsRefused(t *testing.T) {
	onEachRelease(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		require.NoError(t, w.reserveFrom("eol", time.Hour, "a0"))
		require.ErrorIs(t, w.reserveFrom("eol", time.Hour, "a1"), scontrol.ErrReservationExists)
		require.ErrorIs(t, w.reserveFrom("other", time.Hour, "a1", "a9"), scontrol.ErrUnknownNode)
		require.ErrorContains(t, w.reserveFrom("old", -11*time.Minute, "a1"), "Invalid time specified")
		require.NoError(t, w.reserveFrom("past", -time.Minute, "a1"))
		require.ErrorContains(t, w.reserveFrom("none", time.Hour), "no nodes")
		require.ErrorIs(t, w.SetReservation(ctx, "never", slurm.ReservationChange{Nodes: []string{"a1"}}), scontrol.ErrUnknownReservation)
		require.ErrorIs(t, w.DeleteReservation(ctx, "never"), scontrol.ErrUnknownReservation)

		partly, whole := w.SetReservation(ctx, "eol", slurm.ReservationChange{Nodes: []string{"a2", "a9"}}), w.SetReservation(ctx, "eol", slurm.ReservationChange{Nodes: []string{"a9"}})
		reservations := listed(w, w.Reservations)
		if w.o.Version == "22.05" {
			require.ErrorIs(t, partly, scontrol.ErrUnknownNode)
			require.ErrorIs(t, whole, scontrol.ErrUnknownNode)
			require.Equal(t, []string{"a0"}, reservations[0].Nodes)
		} else {
			require.NoError(t, partly, "the unknown one is left out")
			require.ErrorIs(t, whole, scontrol.ErrUnknownReservation)
			require.Equal(t, []string{"a2"}, reservations[0].Nodes)
		}
	})
}

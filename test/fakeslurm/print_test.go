package fakeslurm

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"slurmflex/slurm"
)

func TestWhatIsPrintedIsReadBack(t *testing.T) {
	onEachRelease(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		id := w.submit(JobSpec{Partition: "train", Nodes: 2, Limit: 26 * time.Hour, User: "bob", AdminComment: "theirs"})
		w.submit(JobSpec{Partition: "open", Tasks: 3, Limit: time.Minute})
		w.submit(JobSpec{Partition: "train", Nodes: 4})
		w.pass(2 * time.Second)
		comment, extra := "slurmflex: waits", "slurmflex: 1 boot"
		require.NoError(t, w.UpdateNodes(ctx, []string{"b0"}, slurm.NodeChange{State: "drain", Reason: "a reason", Comment: &comment, Extra: &extra}))
		require.NoError(t, w.CreateReservation(ctx, slurm.ReservationSpec{Name: "slurmflex-x-1", Nodes: []string{"a0", "a1"}, Start: w.now.Add(time.Hour)}))

		nodes, err := w.Nodes(ctx)
		require.NoError(t, err)
		readNodes, err := slurm.ParseNodes([]byte(PrintNodes(nodes)))
		require.NoError(t, err)
		require.Equal(t, nodes, readNodes)

		jobs, err := w.Jobs(ctx)
		require.NoError(t, err)
		readJobs, err := slurm.ParseSqueue([]byte(PrintJobs(jobs)))
		require.NoError(t, err)
		require.Len(t, readJobs, len(jobs))
		for i := range jobs {
			if len(jobs[i].Nodes) == 0 {
				jobs[i].Nodes, readJobs[i].Nodes = nil, nil
			}
		}
		require.Equal(t, jobs, readJobs)

		reservations, err := w.Reservations(ctx)
		require.NoError(t, err)
		readReservations, err := slurm.ParseReservations([]byte(PrintReservations(reservations)))
		require.NoError(t, err)
		require.Equal(t, reservations, readReservations)

		for _, comment := range []string{"", "flex-start: soon", "two\nlines|N/A|"} {
			w.jobs[id].adminComment = comment
			records, err := w.JobRecords(ctx, []uint32{id})
			require.NoError(t, err)
			readRecords, err := slurm.ParseJobRecords([]byte(PrintJobRecords(records, "m4rk")), "m4rk", []uint32{id})
			require.NoError(t, err)
			require.Equal(t, records, readRecords)
		}
	})
}

func TestATimeFarAheadIsPrintedWithAllItsDigits(t *testing.T) {
	w := newWorld(t, "22.05")
	w.submit(JobSpec{Partition: "open", Limit: time.Hour, Begin: w.now.AddDate(9583, 0, 0)})
	w.pass(time.Second)
	jobs, err := w.Jobs(t.Context())
	require.NoError(t, err)
	require.Contains(t, PrintJobs(jobs), "|11609-11-21T")
}

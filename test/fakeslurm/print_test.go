package fakeslurm

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"slurmflex/slurm"
)

func TestPrintedListsParseBack(t *testing.T) {
	onEachRelease(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		id := w.submit(JobSpec{Partition: "train", Nodes: 2, Limit: 26 * time.Hour, User: "bob", AdminComment: "theirs"})
		w.submit(JobSpec{Partition: "open", Tasks: 3, Limit: time.Minute})
		w.submit(JobSpec{Partition: "train", Nodes: 4})
		w.pass(2 * time.Second)
		comment, extra := "slurmflex: waits", "slurmflex: 1 boot"
		require.NoError(t, w.UpdateNodes(ctx, []string{"b0"}, slurm.NodeChange{State: "drain", Reason: "a reason", Comment: &comment, Extra: &extra}))
		require.NoError(t, w.CreateReservation(ctx, slurm.ReservationSpec{Name: "slurmflex-x-1", Nodes: []string{"a0", "a1"}, Start: w.now.Add(time.Hour), Lasts: 10 * time.Minute, Maint: true}))

		same(w, w.Nodes, PrintNodes, slurm.ParseNodes)
		same(w, w.Jobs, func(jobs []slurm.Job) string { return PrintJobs(jobs, "m4rk") },
			func(text []byte) ([]slurm.Job, error) { return slurm.ParseSqueue(text, "m4rk") })
		same(w, w.Reservations, PrintReservations, slurm.ParseReservations)
		for _, comment := range []string{"", "flex-start: soon", "two\nlines|N/A|"} {
			w.jobs[id].adminComment = comment
			same(w, func(ctx context.Context) ([]slurm.JobRecord, error) { return w.JobRecords(ctx, []uint32{id}) },
				func(records []slurm.JobRecord) string { return PrintJobRecords(records, "m4rk") },
				func(text []byte) ([]slurm.JobRecord, error) { return slurm.ParseJobRecords(text, "m4rk", []uint32{id}) })
		}
	})
}

// same requires that parsing the printed list returns the same list.
func same[T any](w *world, list func(context.Context) ([]T, error), show func([]T) string, parse func([]byte) ([]T, error)) {
	w.t.Helper()
	all := listed(w, list)
	read, err := parse([]byte(show(all)))
	require.NoError(w.t, err)
	require.Equal(w.t, fmt.Sprintf("%+v", all), fmt.Sprintf("%+v", read)) // as text, nil and empty node lists are equal
}

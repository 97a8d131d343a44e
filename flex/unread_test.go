package flex

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"slurmflex/slurm"
)

// spoiled is a slurmctld of which one row of everything cannot be read.
type spoiled struct{ *controller }

func spoil[T any](kind, name string, rows []T, err error) ([]T, error) {
	if err != nil {
		return nil, err
	}
	return rows, slurm.Unread{{Kind: kind, Name: name, Why: "rubbish"}}
}

func (s spoiled) Nodes(ctx context.Context) ([]slurm.Node, error) {
	nodes, err := s.controller.Nodes(ctx)
	for i := range nodes {
		if nodes[i].Name == "alpha-a3-2" {
			nodes[i] = slurm.Node{Name: nodes[i].Name}
		}
	}
	return spoil(slurm.NodeRow, "alpha-a3-2", nodes, err)
}

func (s spoiled) Jobs(ctx context.Context) ([]slurm.Job, error) {
	jobs, err := s.controller.Jobs(ctx)
	return spoil(slurm.JobRow, "666", jobs, err)
}

func (s spoiled) Reservations(ctx context.Context) ([]slurm.Reservation, error) {
	reservations, err := s.controller.Reservations(ctx)
	return spoil(slurm.ReservationRow, "later", reservations, err)
}

func (s spoiled) Partitions(ctx context.Context) ([]slurm.Partition, error) {
	partitions, err := s.controller.Partitions(ctx)
	return spoil(slurm.PartitionRow, "spare", partitions, err)
}

// A1
func TestARowThatCannotBeReadStopsNoPass(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.Scheduler = spoiled{w.slurm}
		w.slurm.submit(1, "train", "alpha-a3-[0-1]")
		for range 2 { // partitions are read in the first only
			out := w.mustPass(t.Context())
			for _, row := range []string{"node alpha-a3-2", "job 666", "reservation later", "partition spare"} {
				assert.Contains(t, out.Plan.Problems.Texts(), "a row of Slurm's output was skipped: "+row+" cannot be read: rubbish")
			}
		}
		assert.Contains(t, w.owned(), "group alpha-a3-job-1 in us-central1 of size 2")

		names, err := Unblock(t.Context(), w.Scheduler, w.Config, "one")
		require.NoError(t, err, "no node of it is concerned")
		assert.Empty(t, names)
		_, err = Unblock(t.Context(), w.Scheduler, w.Config, "a3")
		require.EqualError(t, err, "node alpha-a3-2 cannot be read: rubbish")
	})
}

package flex

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/zap"

	"slurmflex/slurm"
	"slurmflex/test/fakegce"
)

// spoiled is a slurmctld with one unreadable row in each list.
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
func TestUnreadableRowStopsNoPass(t *testing.T) {
	inWorld(t, func(w *world) {
		w.Scheduler = spoiled{w.slurm}
		w.slurm.submit(1, "train", "alpha-a3-[0-1]")
		for range 2 { // only the first pass reads partitions
			out := w.mustPass()
			for _, row := range []string{"node alpha-a3-2", "job 666", "reservation later", "partition spare"} {
				assert.Contains(w, out.Plan.Problems.Texts(), "a row of Slurm's output was skipped: "+row+" cannot be read: rubbish")
			}
		}
		assert.Contains(w, w.owned(), "group alpha-a3-job-1 in us-central1 of size 2")

		names, err := Unblock(w.Context(), w.Scheduler, w.Config, "one")
		require.NoError(w, err, "no node of it is concerned")
		assert.Empty(w, names)
		_, err = Unblock(w.Context(), w.Scheduler, w.Config, "a3")
		require.EqualError(w, err, "node alpha-a3-2 cannot be read: rubbish")
	})
}

// C4: an unreadable region causes one warning, and one line when it can be read again. Its last
// reading remains visible, but causes no action.
func TestLastReadingOfARegionIsKept(t *testing.T) {
	inWorld(t, func(w *world) {
		w.running(1, "shared", "alpha-one-0")
		w.waiting(2, "shared", "alpha-one-1")
		_, before := w.look()
		seen := time.Now()
		time.Sleep(time.Minute)
		w.fault(fakegce.Fault{Method: "regionInstanceGroupManagers.list", Object: "/europe-west4/", Status: http.StatusForbidden})
		w.passes(5, time.Minute)
		s, p := w.look()
		known := s.Seen.LastKnown["europe-west4"]
		assert.Len(w, known.Instances, 1)
		assert.WithinDuration(w, seen, known.At, time.Minute)
		require.Len(w, p.Waits, 1)
		assert.Equal(w, before.Waits[0].Request, p.Waits[0].Request, "it stands in Google's queue as before")
		assert.Equal(w, 1, w.log.FilterLevelExact(zap.WarnLevel).Len(), "one warning")

		w.cloud.ClearFaults()
		w.settle()
		assert.Equal(w, 1, w.log.FilterMessage("region europe-west4 is read again").Len())
	})
}

// D12: Slurm's part of a pass waits at most a minute for a Compute that accepts calls and never
// answers.
func TestSilentComputeHoldsSlurmForAMinute(t *testing.T) {
	inWorld(t, func(w *world) {
		w.fault(fakegce.Fault{Method: "*", Delay: time.Hour})
		w.slurm.submit(1, "train", "alpha-a3-[0-1]")
		begun := time.Now()
		w.mustPass()
		assert.InDelta(w, 60, time.Since(begun).Seconds(), 1, "templates of two regions are read side by side")
		assert.Equal(w, []string{"alpha-a3-[0-1] power_down "}, w.slurm.updates, "marked, since their partition is exclusive")
	})
}

// B2, B3: duplicates and endless pages cost neither a request nor a machine.
func TestDuplicatesAndEndlessPagesCostNoRequest(t *testing.T) {
	t.Parallel()
	eachInWorld(t, map[string]fakegce.Fault{
		"duplicates":              {Method: "*ist", Doubled: true},
		"alternating tokens":      {Method: "*ist", Endless: fakegce.Alternating},
		"tokens always new":       {Method: "*ist", Endless: fakegce.AlwaysNew},
		"a request without age":   {Method: "*ResizeRequests.list", Broken: &fakegce.Broken{Field: "creationTimestamp", Value: "soon"}},
		"a request without state": {Method: "*ResizeRequests.list", Broken: &fakegce.Broken{Field: "state"}},
		"a group without stamp":   {Method: "*Managers.list", Broken: &fakegce.Broken{Field: "description", Value: `{"slurmflex":1,`}},
	}, func(w *world, fault fakegce.Fault) {
		w.waiting(7, "train", "alpha-a3-[0-1]")
		before := w.mutations()
		require.NotEmpty(w, before)
		w.fault(fault)
		w.passes(4, 3*time.Minute)
		assert.Equal(w, before, w.mutations())
	})
}

//go:build e2e

package e2e

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"slurmflex/slurm"
	"slurmflex/test/fakeslurm"
	"slurmflex/test/lab"
)

// aWhile is the time in which backfill runs twice, at one run per 15 s.
const aWhile = 90 * time.Second

// halfOpen returns twins with warm nodes a3-0 and a3-1 outside the cover, and with a one-hour job
// on a3-0.
func halfOpen(t *testing.T) *twins {
	w := newTwins(t, lab.Options{Backfill: 15})
	w.limit = aWhile
	w.cover("C", "alpha-a3-[0-7]", 60)
	w.update("alpha-a3-[0-1]", "power_up")
	w.boot("alpha-a3-0", "alpha-a3-1")
	w.scontrol("update reservationname=C nodes=alpha-a3-[2-7]")
	w.submit(hour("train", "alpha-a3-0"))
	return w
}

// lasting returns a one-node job.
func lasting(limit time.Duration) fakeslurm.JobSpec {
	return fakeslurm.JobSpec{Partition: "train", Nodes: 1, Limit: limit, Run: 10 * time.Minute}
}

func TestModelJobsOvertakeAWaitingJob(t *testing.T) {
	w := halfOpen(t)
	w.submit(nodesOf(2)) // it waits for job 1
	w.waits(2, "Resources")
	w.submit(lasting(12 * time.Hour)) // it would delay job 2
	w.waits(3, "Priority")
	w.submit(lasting(10 * time.Minute))
	w.reaches(aWhile, 4, slurm.JobRunning)
	w.cancel(4)
	w.waits(3, "Priority")
	w.scontrol("create reservation reservationname=H nodes=alpha-a3-[2-3] starttime=now+3000 " + doorFlags)
	// In its door, job 2 no longer delays job 3.
	w.scontrol("update jobid=2 reservationname=H")
	// On 24.11 the node is cold by now.
	w.await(aWhile, "the long job to start", func() bool { return w.model.JobState(3) != slurm.JobPending })
}

func TestModelJobsOvertakeAJobBehindTheCover(t *testing.T) {
	w := halfOpen(t)
	w.cancel(1)
	w.submit(nodesOf(3))
	w.waits(2, behindCover)
	w.submit(lasting(12 * time.Hour))
	w.reaches(usual, 3, slurm.JobRunning)
	w.waits(2, "Resources") // a node outside the cover is now busy
}

func TestModelBackfillIgnoresForciblyPoweredDownNodes(t *testing.T) {
	w := halfOpen(t)
	w.update("alpha-a3-1", "power_down_force it goes")
	w.awaitNode(usual, "alpha-a3-1", "IDLE+CLOUD+POWERED_DOWN")
	w.submit(nodesOf(2))
	w.submit(lasting(10 * time.Minute))
	time.Sleep(aWhile / 2)
	w.waits(3, "Priority")
	w.update("alpha-a3-1", "idle")
	w.reaches(aWhile, 3, slurm.JobConfiguring)
}

func TestModelIdleKeepsNodesPoweredDown(t *testing.T) {
	w := newTwins(t, lab.Options{})
	w.update("alpha-a3-[0-2]", "power_up", "power_down_force it goes")
	w.awaitNode(usual, "alpha-a3-2", "IDLE+CLOUD+POWERED_DOWN")
	w.update("alpha-a3-[0-1]", "idle it is free") // only 24.11 keeps the reason
	w.submit(hour("train", "alpha-a3-1"))
	w.update("alpha-a3-[0-2]", "idle") // rejected for the node with a job
	require.Equal(t, slurm.JobConfiguring, w.model.JobState(1))
}

func TestModelJobsGetColdNodes(t *testing.T) {
	w := newTwins(t, lab.Options{})
	w.update("alpha-a3-3", "drain broken")
	w.update("alpha-a3-6", "drain broken")
	w.submit(nodesOf(1))
	w.submit(nodesOf(2))
	w.submit(nodesOf(1))
	w.submit(nodesOf(2))
	closes := func(c *fakeslurm.Cluster) error { return c.ClosePartition(context.Background(), "train") }
	w.slurm(closes, "scontrol", "update", "partitionname=train", "state=down")
	w.submit(nodesOf(1))
	w.waits(5, "PartitionDown")
}

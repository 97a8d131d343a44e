//go:build e2e

package e2e

import (
	"fmt"
	"testing"

	"slurmflex/slurm"
	"slurmflex/test/fakeslurm"
	"slurmflex/test/lab"
)

// nodesOf returns a one-hour job on any nodes of partition train.
func nodesOf(count int) fakeslurm.JobSpec {
	spec := hour("train")
	spec.Nodes = count
	return spec
}

// cover closes nodes to all jobs until it expires or is raised again.
func (w *twins) cover(name, nodes string, minutes int) {
	w.t.Helper()
	w.scontrol(fmt.Sprintf("create reservation reservationname=%s nodes=%s starttime=now duration=infinite users=root "+
		"flags=ignore_jobs,overlap,no_hold_jobs_after,purge_comp=%d", name, nodes, minutes))
}

// doorFlags are the flags of a reservation in which one job will start.
const doorFlags = "duration=infinite users=root flags=overlap,no_hold_jobs_after"

const behindCover = "ReqNodeNotAvail, May be reserved for other job"

func TestModelJobsWaitBehindTheCover(t *testing.T) {
	w := newTwins(t, lab.Options{})
	w.cover("C", "alpha-a3-[0-7]", 6)
	w.scontrol("update reservationname=C flags+=purge_comp=10")
	w.scontrol("update reservationname=C nodes-=alpha-a3-7")
	w.scontrol("update reservationname=C nodes+=alpha-a3-7")
	w.submit(nodesOf(1))
	w.submit(nodesOf(2))
	array := nodesOf(1)
	array.Tasks = 3
	w.submit(array)
	w.submit(hour("train", "alpha-a3-3"))
	for id := range uint32(4) {
		w.waits(id+1, behindCover)
	}
	w.cover("C2", "alpha-a3-[0-7]", 6)
	w.scontrol("delete reservationname=C")
	w.update("alpha-a3-0", "power_up")
	w.boot("alpha-a3-0")
	w.boot("alpha-a3-4") // without a job
	w.restart()
	w.waits(1, behindCover)
	// Nodes that leave the cover are available to queued jobs.
	w.scontrol("update reservationname=C2 nodes=alpha-a3-[1-7]")
	w.reaches(usual, 1, slurm.JobRunning)
	w.cancel(2)
	w.cancel(3)
	w.update("alpha-a3-5", "power_up")
	w.boot("alpha-a3-5")
	w.submit(nodesOf(1))
	w.scontrol("update reservationname=C2 nodes=alpha-a3-[1-4,6-7]")
	w.reaches(usual, 5, slurm.JobRunning)
	w.scontrol("delete reservationname=C2")
	w.scontrol("delete reservationname=C2")
}

func TestModelCoverEndsUnlessRaised(t *testing.T) {
	w := newTwins(t, lab.Options{})
	w.cover("C", "alpha-a3-[0-7]", 1)
	w.submit(nodesOf(1))
	w.waits(1, behindCover)
	w.restart() // this resets its clock
	w.reaches(2*periodic, 1, slurm.JobConfiguring)
}

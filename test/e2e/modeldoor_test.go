//go:build e2e

package e2e

import (
	"testing"

	"slurmflex/slurm"
	"slurmflex/test/fakeslurm"
	"slurmflex/test/lab"
)

func TestModelJobStartsInItsDoor(t *testing.T) {
	w := newTwins(t, lab.Options{})
	w.cover("C", "alpha-a3-[0-7]", 60)
	w.submit(nodesOf(1))
	w.submit(nodesOf(2))
	w.scontrol("create reservation reservationname=H nodes=alpha-a3-[0-1] starttime=now+300 " + doorFlags)
	w.scontrol("create reservation reservationname=H nodes=alpha-a3-[2-3] starttime=now+300 " + doorFlags)
	w.scontrol("update jobid=2 reservationname=H")
	w.waits(2, "Reservation")
	w.scontrol("update jobid=2 reservationname=nowhere")
	w.scontrol("update reservationname=H starttime=now+400")
	w.scontrol("delete reservationname=H")
	w.update("alpha-a3-[0-1]", "power_up")
	w.boot("alpha-a3-0", "alpha-a3-1")
	w.restart()
	w.scontrol("update reservationname=H starttime=now")
	w.reaches(usual, 2, slurm.JobRunning)
	w.scontrol("update reservationname=H starttime=now")
	w.scontrol("update reservationname=H starttime=now+300")
	// At that time, job 2 still runs on alpha-a3-1.
	w.scontrol("create reservation reservationname=K nodes=alpha-a3-[1-2] starttime=now+300 " + doorFlags)
	w.scontrol("create reservation reservationname=K nodes=alpha-a3-[1-2] starttime=now " + doorFlags)
	// By that time, job 2 has ended.
	w.scontrol("create reservation reservationname=K nodes=alpha-a3-[1-2] starttime=now+4000 " + doorFlags)
	w.scontrol("delete reservationname=K")
	w.scontrol("delete reservationname=H")
	w.scontrol("update jobid=2 reservationname=")
	w.scontrol("delete reservationname=H")
	w.cancel(2)
	w.scontrol("update jobid=2 reservationname=C")
	w.waits(1, behindCover)
}

func TestModelDoorOpensByItself(t *testing.T) {
	w := newTwins(t, lab.Options{})
	w.cover("C", "alpha-a3-[0-7]", 60)
	w.submit(nodesOf(1))
	w.submit(nodesOf(2))
	w.update("alpha-a3-[4-5]", "power_up")
	w.boot("alpha-a3-4", "alpha-a3-5")
	w.scontrol("create reservation reservationname=WARM nodes=alpha-a3-4 starttime=now+25 " + doorFlags)
	w.scontrol("update jobid=1 reservationname=WARM")
	w.scontrol("create reservation reservationname=COLD nodes=alpha-a3-[6-7] starttime=now+25 " + doorFlags)
	w.scontrol("update jobid=2 reservationname=COLD")
	w.await(periodic, "them to start", func() bool {
		return w.model.JobState(1) == slurm.JobRunning && w.model.JobState(2) == slurm.JobConfiguring
	})
}

func TestModelJobDoesNotFitItsDoor(t *testing.T) {
	w := newTwins(t, lab.Options{})
	w.unranked = true // 22.05 lowers the priority of a job that it has held by a varying amount
	w.cover("C", "alpha-a3-[0-7]", 60)
	w.update("alpha-a3-[0-3]", "power_up")
	w.boot("alpha-a3-0", "alpha-a3-1", "alpha-a3-2", "alpha-a3-3")
	w.scontrol("create reservation reservationname=D nodes=alpha-a3-[0-1] starttime=now " + doorFlags)
	w.submit(nodesOf(3)) // it needs more nodes
	w.scontrol("update jobid=1 reservationname=D")
	w.waits(1, "None")
	w.scontrol("update jobid=1 reservationname=")
	w.waits(1, behindCover)
	w.submit(hour("train", "alpha-a3-5")) // it needs another node
	w.scontrol("update jobid=2 reservationname=D")
	w.scontrol("update jobid=2 reservationname=")
	w.waits(2, behindCover)
	w.cancel(2)
	excludes := nodesOf(2)
	excludes.Exclude = []string{"alpha-a3-0"}
	w.submit(excludes)
	w.scontrol("update jobid=3 reservationname=D")
	w.scontrol("update jobid=3 reservationname=")
	w.waits(3, behindCover)
	w.submit(nodesOf(2))
	w.slurm(func(c *fakeslurm.Cluster) error { return c.SetPriority(4, 0) }, "scontrol", "hold", "4")
	w.scontrol("update jobid=4 reservationname=D")
	w.release(4)
	w.reaches(usual, 4, slurm.JobRunning)
	w.scontrol("create reservation reservationname=E nodes=alpha-a3-[2-3] starttime=now " + doorFlags)
	w.submit(nodesOf(1)) // it needs fewer nodes
	w.scontrol("update jobid=5 reservationname=E")
	w.reaches(usual, 5, slurm.JobRunning)
}

func TestModelTasksAndComponentsUseDoors(t *testing.T) {
	w := newTwins(t, lab.Options{})
	w.cover("C", "alpha-a3-[0-7]", 60)
	w.update("alpha-a3-[0-3]", "power_up")
	w.boot("alpha-a3-0", "alpha-a3-1", "alpha-a3-2", "alpha-a3-3")
	array := nodesOf(2)
	array.Tasks = 4
	w.submit(array)
	w.scontrol("create reservation reservationname=A nodes=alpha-a3-[0-1] starttime=now+300 " + doorFlags)
	w.scontrol("update jobid=1_2 reservationname=A")
	w.waits(1, behindCover+",Reservation") // squeue shows the waiting tasks in one line
	w.scontrol("update reservationname=A starttime=now")
	w.reaches(usual, 2, slurm.JobRunning)
	w.scontrol("update jobid=1_9 reservationname=A")
	components := []fakeslurm.JobSpec{nodesOf(1), nodesOf(1)}
	args := []string{"-p", "train", "-N1", "-t", "60", ":", "-p", "train", "-N1", "-t", "60", "-o", "/dev/null", "--wrap", "sleep 600"}
	w.slurm(func(c *fakeslurm.Cluster) error { _, err := c.SubmitHet(components...); return err }, "sbatch", args...)
	w.scontrol("create reservation reservationname=B nodes=alpha-a3-[2-3] starttime=now+300 " + doorFlags)
	w.scontrol("update jobid=3 reservationname=B")
	w.scontrol("update reservationname=B starttime=now")
	w.reaches(periodic, 3, slurm.JobRunning)
}

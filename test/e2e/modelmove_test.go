//go:build e2e

package e2e

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"slurmflex/flex"
	"slurmflex/flex/plan/memo"
	"slurmflex/slurm"
	"slurmflex/test/fakeslurm"
	"slurmflex/test/lab"
)

// Slurm refuses to reserve nodes for a job if another job was faster.
func TestModelAJobMovesIntoAReservation(t *testing.T) {
	w := newTwins(t, lab.Options{})
	ctx, move := context.Background(), memo.SalvageReservation("alpha", 2)
	reserve := func(name string, nodes ...string) {
		w.both("reserve "+slurm.Fold(nodes), func(s flex.Scheduler) error {
			return s.ReserveForJob(ctx, slurm.JobReservationSpec{Name: name, User: "root", Nodes: nodes, Lasts: 3 * time.Minute})
		})
	}
	use := func(job uint32, name string) {
		w.both("use "+name, func(s flex.Scheduler) error { return s.SetJobReservation(ctx, job, name) })
	}
	remove := func() {
		w.both("remove", func(s flex.Scheduler) error { return s.DeleteReservation(ctx, move) })
	}
	w.submit(hour("train", "alpha-a3-0"))
	second := hour("train")
	second.Nodes = 1
	w.submit(second)
	w.update("alpha-a3-5", "power_up")
	w.boot("alpha-a3-5")

	reserve(move, "alpha-a3-0") // job 1 has it
	reserve(move, "alpha-a3-0", "alpha-a3-5")
	use(2, move) // there is none
	reserve(move, "alpha-a3-5")
	reserve(memo.SalvageReservation("alpha", 1), "alpha-a3-5")
	use(2, move)
	remove() // job 2 uses it
	require.Equal(t, slurm.JobConfiguring, w.model.JobState(2))
	w.update("alpha-a3-1", "power_down_force it moves")
	w.both("start", func(s flex.Scheduler) error { return s.StartNow(ctx, 2, 0) })
	w.await(usual, "the job to run", func() bool { return w.model.JobState(2) == slurm.JobRunning })
	use(2, "")
	remove()
	remove()
	w.slurm(func(c *fakeslurm.Cluster) error { return c.Cancel(2) }, "scancel", "2")
	use(2, "")
	use(99, move)
	use(99, "")
}

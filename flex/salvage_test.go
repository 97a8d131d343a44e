package flex

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"slurmflex/slurm"
)

// cutOff is a Slurm to which the process gets so many commands through before it
// dies, which it does before or after the last one.
type cutOff struct {
	Scheduler
	left int
	acts bool
}

var errCutOff = errors.New("the process has died")

func (c *cutOff) next(act func() error) error {
	c.left--
	if c.left > 0 || c.left == 0 && c.acts {
		if err := act(); err != nil {
			return err
		}
	}
	if c.left <= 0 {
		return errCutOff
	}
	return nil
}

func (c *cutOff) ReserveForJob(ctx context.Context, spec slurm.JobReservationSpec) error {
	return c.next(func() error { return c.Scheduler.ReserveForJob(ctx, spec) })
}

func (c *cutOff) SetJobReservation(ctx context.Context, job uint32, name string) error {
	return c.next(func() error { return c.Scheduler.SetJobReservation(ctx, job, name) })
}

func (c *cutOff) UpdateNodes(ctx context.Context, names []string, change slurm.NodeChange) error {
	return c.next(func() error { return c.Scheduler.UpdateNodes(ctx, names, change) })
}

func (c *cutOff) StartNow(ctx context.Context, job uint32, limit time.Duration) error {
	return c.next(func() error { return c.Scheduler.StartNow(ctx, job, limit) })
}

// torn is a job of three nodes of which one has lost its machine.
func torn(t *testing.T, w *world) {
	flex := w.Config.FlexSetOf("alpha-a3-0").Flex
	flex.Salvage, flex.SalvageTimeout, flex.UseJobDuration = true, time.Hour, false
	w.running(8, "train", "alpha-a3-[0-2]")
	j := w.slurm.jobs[8]
	j.User, j.Priority, j.NodeCount, j.State, j.Start = "ada", 1, 3, slurm.JobRunning, time.Now()
	require.NoError(t, w.cloud.DeleteVM("alpha-a3-1"))
	time.Sleep(20 * time.Second)
	w.slurm.nodes["alpha-a3-1"].State.Flags |= slurm.NotResponding
}

func TestAGangThatNeverWaitedForItsMachinesIsSalvaged(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		flex := w.Config.FlexSetOf("alpha-a3-0").Flex
		flex.Salvage, flex.SalvageTimeout, flex.UseJobDuration, flex.KeepIdle = true, time.Hour, false, time.Hour
		w.running(7, "train", "alpha-a3-[0-2]")
		w.slurm.cancel(7)
		w.slurm.submit(8, "train", "alpha-a3-[0-2]")
		j := w.slurm.jobs[8]
		j.User, j.Priority, j.NodeCount, j.State, j.Start = "ada", 1, 3, slurm.JobRunning, time.Now()
		for _, name := range j.Nodes {
			w.slurm.nodes[name].State = slurm.ParseState("ALLOCATED+CLOUD")
		}
		w.settle()
		require.NoError(t, w.cloud.DeleteVM("alpha-a3-1"))
		w.passes(3, 5*time.Second)
		assert.Contains(t, w.slurm.eol, "slurmflex-alpha.salvage-8")
		assert.Len(t, w.cloud.State().Instances, 2, "the others are held")
	})
}

func TestAGangIsSalvagedWhereverTheProcessDies(t *testing.T) {
	for at := range 4 {
		for _, acts := range []bool{false, true} {
			t.Run(fmt.Sprintf("at command %d, done: %t", at, acts), func(t *testing.T) {
				inWorld(t, func(t *testing.T, w *world) {
					torn(t, w)
					before := w.cloud.State()
					scheduler := w.Scheduler
					w.Scheduler = &cutOff{scheduler, at, acts}
					_, err := w.Pass(t.Context())
					require.NoError(t, err)
					w.begin()
					w.passes(20, 2*time.Second)
					j, now := w.slurm.jobs[8], w.cloud.State()
					assert.Equal(t, slurm.JobConfiguring, j.State)
					assert.Len(t, j.Nodes, 3)
					for _, name := range []string{"alpha-a3-0", "alpha-a3-2"} {
						assert.Contains(t, j.Nodes, name)
						was, _ := before.Instance(name)
						is, there := now.Instance(name)
						assert.True(t, there && was.Created.Equal(is.Created), name)
					}
					assert.Len(t, now.Instances, 3)
					j.State = slurm.JobRunning
					w.passes(2, time.Second)
					assert.Empty(t, j.Reservation)
					for name := range w.slurm.eol {
						assert.NotContains(t, name, ".salvage-")
					}
				})
			})
		}
	}
}

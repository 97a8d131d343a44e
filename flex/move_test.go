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

// cutOff is a Slurm to which the process gets so many commands of a move through before it
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

// keptAndWaiting is a machine that a job has left idle, and a job that waits for another one.
func keptAndWaiting(w *world) {
	flex := w.Config.FlexSetOf("alpha-a3-0").Flex
	flex.KeepIdle, flex.UseJobDuration = 30*time.Minute, false
	w.running(7, "train", "alpha-a3-0")
	w.waiting(8, "train", "alpha-a3-1")
	j := w.slurm.jobs[8]
	j.User, j.Priority, j.Start = "ada", 1, time.Now()
	time.Sleep(time.Minute)
	w.slurm.cancel(7)
}

func TestAJobMovesToKeptMachinesWhereverTheProcessDies(t *testing.T) {
	for at := range 5 {
		for _, acts := range []bool{false, true} {
			t.Run(fmt.Sprintf("at command %d, done: %t", at, acts), func(t *testing.T) {
				inWorld(t, func(t *testing.T, w *world) {
					keptAndWaiting(w)
					before := w.Scheduler
					w.Scheduler = &cutOff{before, at, acts}
					_, err := w.Pass(t.Context())
					require.NoError(t, err)
					w.begin()
					w.passes(5, 2*time.Second)
					j := w.slurm.jobs[8]
					assert.Equal(t, slurm.JobRunning, j.State)
					assert.Equal(t, []string{"alpha-a3-0"}, j.Nodes)
					assert.Empty(t, j.Reservation)
					for name := range w.slurm.eol {
						assert.NotContains(t, name, ".job-")
					}
				})
			})
		}
	}
}

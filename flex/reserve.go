package flex

import (
	"context"
	"errors"
	"maps"
	"sync"
	"time"

	"slurmflex/flex/plan"
	"slurmflex/slurm"
)

// lateRest is for how long no machines are requested for a pending job that did not start when all
// its machines had come. What it lacks may have changed by then.
const lateRest = 5 * time.Minute

// lateMemory is for how long after that slurmflex leaves the choice of the job's nodes to Slurm: the
// job may need others than slurmflex would choose.
const lateMemory = time.Hour

// setReservation changes a reservation. One that has started by itself needs no new start.
func (r *Reconciler) setReservation(ctx context.Context, a plan.SetReservation) error {
	err := r.Scheduler.SetReservation(ctx, a.Name, a.ReservationChange)
	if !a.Start.IsZero() && errors.Is(err, slurm.ErrReservationStarted) {
		return nil
	}
	return err
}

// useReservation has a pending job use a reservation, or leave it.
func (r *Reconciler) useReservation(ctx context.Context, a plan.UseReservation) error {
	name := a.Name
	if a.Leave {
		name = ""
	}
	return r.Scheduler.SetReservationOf(ctx, a.Address, name)
}

// deleteReservation deletes a reservation, which Slurm refuses while a job uses it.
func (r *Reconciler) deleteReservation(ctx context.Context, a plan.DeleteReservation) error {
	if a.Late {
		r.late.note(a.Job, r.Now())
	}
	var err error
	switch {
	case a.Unused:
	case a.Address != "":
		err = r.Scheduler.SetReservationOf(ctx, a.Address, "")
	case a.Job != 0:
		err = r.Scheduler.SetJobReservation(ctx, a.Job, "")
	}
	if err != nil {
		return err
	}
	return r.Scheduler.DeleteReservation(ctx, a.Name)
}

// latecomers holds until when no machines are requested for jobs that did not start in time. Several
// goroutines use it.
type latecomers struct {
	mu    sync.Mutex
	until map[uint32]time.Time
}

func (l *latecomers) note(job uint32, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.until == nil {
		l.until = map[uint32]time.Time{}
	}
	l.until[job] = now.Add(lateRest)
}

// matter returns those that are not forgotten, and forgets the others.
func (l *latecomers) matter(now time.Time) map[uint32]time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	maps.DeleteFunc(l.until, func(_ uint32, until time.Time) bool { return !until.Add(lateMemory).After(now) })
	return maps.Clone(l.until)
}

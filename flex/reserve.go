package flex

import (
	"context"
	"errors"
	"maps"
	"sync"
	"time"

	"slurmflex/flex/plan"
	"slurmflex/flex/plan/scene"
	"slurmflex/slurm"
)

// lateRest is for how long no machines are requested for a pending job that did not start when all
// its machines had come. What it lacks may have changed by then.
const lateRest = 5 * time.Minute

// lateMemory is for how long after that slurmflex leaves the choice of the job's nodes to Slurm: the
// job may need others than slurmflex would choose.
const lateMemory = time.Hour

// createReservation makes a reservation. If slurmctld makes none for the user of a job, slurmflex
// requests no machines for the job for some minutes, and why shows the reason.
func (r *Reconciler) createReservation(ctx context.Context, a plan.CreateReservation) error {
	err := r.Scheduler.CreateReservation(ctx, slurm.ReservationSpec{
		Name: a.Name, Nodes: a.Nodes, Start: a.Start, Lasts: a.Lasts, Maint: a.Maint, User: a.User, Purge: a.Purge,
	})
	if a.Job != 0 && errors.Is(err, slurm.ErrUserUnknown) {
		r.late.note(a.Job, scene.Late{Until: r.Now().Add(lateRest), Unknown: a.User})
	}
	return err
}

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
	if a.Late != "" {
		r.late.note(a.Job, scene.Late{Until: r.Now().Add(lateRest), Reason: a.Late})
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

// latecomers holds the jobs that did not start in time. Several goroutines use it.
type latecomers struct {
	mu   sync.Mutex
	jobs map[uint32]scene.Late
}

func (l *latecomers) note(job uint32, late scene.Late) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.jobs == nil {
		l.jobs = map[uint32]scene.Late{}
	}
	l.jobs[job] = late
}

// matter returns those that are not forgotten, and forgets the others.
func (l *latecomers) matter(now time.Time) map[uint32]scene.Late {
	l.mu.Lock()
	defer l.mu.Unlock()
	maps.DeleteFunc(l.jobs, func(_ uint32, late scene.Late) bool { return !late.Until.Add(lateMemory).After(now) })
	return maps.Clone(l.jobs)
}

package apply

import (
	"context"
	"errors"
	"time"

	"slurmflex/flex/plan/action"
	"slurmflex/flex/plan/scene"
	"slurmflex/slurm"
)

// lateRest is how long slurmflex requests no machines for a pending job that did not start when all
// its machines were up. The reason may have disappeared by then. Slurm plans such a job again at once,
// because no plan shows limits and licenses.
const lateRest = 5 * time.Minute

// longestRest is the longest such rest. Each one is twice as long as the one before, because the machines
// of a job that cannot start are billed each time.
const longestRest = 80 * time.Minute

// restOf returns how long a job rests that has not started although all its machines were up.
func (h Hands) restOf(job uint32) time.Duration {
	last, at, known := h.Memory.Late.Get(job)
	if !known || last.Reason == "" {
		return lateRest
	}
	return min(2*last.Until.Sub(at), longestRest)
}

// refusals is how many times in a row slurmctld rejects a reservation for a job, or that the job
// uses it, before slurmflex requests no machines for the job for some minutes. A single rejection
// may be due to a job that started between a pass and its action.
const refusals = 3

// noteRefusal lets a job wait if slurmctld has rejected its reservation, or that the job uses it,
// that many times in a row. Otherwise the job would keep the nodes from other jobs, and its owner
// could not read why it waits.
func (h Hands) noteRefusal(a action.Action, err error, times int) {
	refusal, ok := errors.AsType[refusal](err)
	if !ok || refusal.Answer() == "" || times < refusals || errors.Is(err, slurm.ErrUserUnknown) {
		return
	}
	late := scene.Late{Until: h.Now().Add(lateRest), Refused: refusal.Answer()}
	switch a := a.(type) {
	case action.CreateReservation:
		if a.Job != 0 {
			h.Memory.Late.Note(a.Job, late, h.Now())
		}
	case action.UseReservation:
		if late.Unusable = true; !a.Leave {
			h.Memory.Late.Note(a.Job, late, h.Now())
		}
	}
}

// refusal is an error with slurmctld's own message, which is empty if slurmctld did not answer.
type refusal interface {
	error
	Answer() string
}

// createReservation creates a reservation. If slurmctld rejects a reservation for the user of a
// job, slurmflex requests no machines for the job for some minutes, and why shows the reason.
func (h Hands) createReservation(ctx context.Context, a action.CreateReservation) error {
	err := h.Slurm.CreateReservation(ctx, slurm.ReservationSpec{
		Name: a.Name, Nodes: a.Nodes, Start: a.Start, Lasts: a.Lasts, Maint: a.Maint, User: a.User, Purge: a.Purge,
	})
	if a.Job != 0 && errors.Is(err, slurm.ErrUserUnknown) {
		h.Memory.Late.Note(a.Job, scene.Late{Until: h.Now().Add(lateRest), Unknown: true}, h.Now())
	}
	return err
}

// setReservation changes a reservation. A start that has passed becomes the present time, because
// passes count from it how long the job has had its nodes. If Slurm rejects a new start because the
// reservation has already started, it succeeds.
func (h Hands) setReservation(ctx context.Context, a action.SetReservation) error {
	if now := h.Now(); !a.Start.IsZero() && a.Start.Before(now) {
		a.Start = now
	}
	err := h.Slurm.SetReservation(ctx, a.Name, a.ReservationChange)
	if !a.Start.IsZero() && errors.Is(err, slurm.ErrReservationStarted) {
		return nil
	}
	return err
}

// useReservation makes a pending job use a reservation, or stop using it.
func (h Hands) useReservation(ctx context.Context, a action.UseReservation) error {
	name := a.Name
	if a.Leave {
		name = ""
	}
	return h.Slurm.SetReservationOf(ctx, a.Address, name)
}

// deleteReservation deletes a reservation. Slurm rejects this while a job uses the reservation.
func (h Hands) deleteReservation(ctx context.Context, a action.DeleteReservation) error {
	if a.Late != "" {
		h.Memory.Late.Note(a.Job, scene.Late{Until: h.Now().Add(h.restOf(a.Job)), Reason: a.Late}, h.Now())
	}
	if a.Address != "" && !a.Unused {
		if err := h.Slurm.SetReservationOf(ctx, a.Address, ""); err != nil {
			return err
		}
	}
	return h.Slurm.DeleteReservation(ctx, a.Name)
}

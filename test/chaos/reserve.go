package chaos

import (
	"context"
	"fmt"
	"slices"
	"time"

	"slurmflex/flex/plan/memo"
	"slurmflex/slurm"
)

func (s *commands) ReserveForJob(ctx context.Context, spec slurm.JobReservationSpec) error {
	return change(ctx, s, "create reservation", spec.Name, func(ctx context.Context) error {
		err := s.next.ReserveForJob(ctx, spec)
		if err == nil {
			s.process.w.salvages.begin(s.process.w, memo.ParseHold(cluster, spec.Name).Job, slices.Concat(spec.Nodes, spec.Held))
		}
		return err
	})
}

func (s *commands) SetJobReservation(ctx context.Context, job uint32, name string) error {
	return change(ctx, s, "set the reservation of", fmt.Sprint(job, " ", name), func(ctx context.Context) error {
		return s.next.SetJobReservation(ctx, job, name)
	})
}

func (s *commands) SetReservationOf(ctx context.Context, address, name string) error {
	return change(ctx, s, "set the reservation of", address+" "+name, func(ctx context.Context) error {
		return s.next.SetReservationOf(ctx, address, name)
	})
}

func (s *commands) StartNow(ctx context.Context, job uint32, limit time.Duration) error {
	return change(ctx, s, "start now", fmt.Sprint(job), func(ctx context.Context) error { return s.next.StartNow(ctx, job, limit) })
}

package chaos

import (
	"context"
	"fmt"
)

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

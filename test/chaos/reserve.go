package chaos

import (
	"context"
)

func (s *commands) SetReservationOf(ctx context.Context, address, name string) error {
	return change(ctx, s, "set the reservation of", address+" "+name, func(ctx context.Context) error {
		return s.next.SetReservationOf(ctx, address, name)
	})
}

package apply

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"slurmflex/flex/memory"
	"slurmflex/flex/plan/action"
	"slurmflex/flex/plan/scene"
	"slurmflex/slurm"
)

// strict is a Slurm that rejects reservations for users.
type strict struct{ Scheduler }

func (strict) CreateReservation(context.Context, slurm.ReservationSpec) error {
	return slurm.ErrUserUnknown
}

func TestRejectedReservationDelaysTheJob(t *testing.T) {
	now := time.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC)
	h := Hands{Slurm: strict{}, Memory: &memory.Memory{}, Now: func() time.Time { return now }}
	require.ErrorIs(t, h.createReservation(t.Context(), action.CreateReservation{Job: 7, User: "eve"}), slurm.ErrUserUnknown)
	require.Error(t, h.createReservation(t.Context(), action.CreateReservation{}))
	assert.Equal(t, map[uint32]scene.Late{7: {Until: now.Add(lateRest), Unknown: "eve"}}, h.Memory.Late.Matter(now))
}

package apply

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/zap"

	"slurmflex/flex/memory"
	"slurmflex/flex/plan/action"
	"slurmflex/flex/plan/memo"
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
	assert.Equal(t, map[uint32]scene.Late{7: {Until: now.Add(lateRest), Unknown: true}}, h.Memory.Late.All())
}

// releasing is a Slurm that deletes reservations.
type releasing struct{ Scheduler }

func (releasing) DeleteReservation(context.Context, string) error { return nil }

func TestJobThatDidNotStartRestsWithSlurmsReason(t *testing.T) {
	now := time.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC)
	h := Hands{Slurm: releasing{}, Memory: &memory.Memory{}, Now: func() time.Time { return now }}
	require.NoError(t, h.deleteReservation(t.Context(), action.DeleteReservation{Job: 7, Unused: true, Late: "Resources"}))
	assert.Equal(t, map[uint32]scene.Late{7: {Until: now.Add(lateRest), Reason: "Resources"}}, h.Memory.Late.All())
}

// opening is a Slurm that remembers the start of a reservation.
type opening struct {
	Scheduler
	start time.Time
}

func (o *opening) SetReservation(_ context.Context, _ string, change slurm.ReservationChange) error {
	o.start = change.Start
	return nil
}

func TestReservationStartsWhenItIsChangedNotWhenItWasPlanned(t *testing.T) {
	now := time.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC)
	in := &opening{}
	h := Hands{Slurm: in, Now: func() time.Time { return now }}
	for planned, start := range map[time.Duration]time.Duration{-40 * time.Second: 0, time.Hour: time.Hour} {
		require.NoError(t, h.setReservation(t.Context(), action.SetReservation{ReservationChange: slurm.ReservationChange{Start: now.Add(planned)}}))
		assert.Equal(t, now.Add(start), in.start)
	}
}

// answer is an error of scontrol with slurmctld's answer.
type answer string

func (a answer) Error() string  { return "scontrol create reservation: " + string(a) }
func (a answer) Answer() string { return string(a) }

// busy is a Slurm that refuses all reservations.
type busy struct {
	Scheduler
	answer answer
}

func (b busy) CreateReservation(context.Context, slurm.ReservationSpec) error { return b.answer }

func (b busy) SetReservationOf(context.Context, string, string) error { return b.answer }

// The name of a door has the time of its pass.
func TestReservationThatIsRefusedAgainAndAgainDelaysTheJob(t *testing.T) {
	now := time.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC)
	h := Hands{Slurm: busy{answer: "Requested nodes are busy"}, Memory: &memory.Memory{}, Log: zap.NewNop(), Now: func() time.Time { return now }}
	work := func(job uint32) {
		h.Work(t.Context(), []action.Action{action.CreateReservation{
			OfReservation: action.OfReservation{Name: memo.DoorReservation("alpha", "7", now)}, Nodes: []string{"alpha-a3-0"}, Job: job, User: "ann",
		}})
		now = now.Add(10 * time.Second)
	}
	work(7)
	work(7)
	assert.Empty(t, h.Memory.Late.All(), "a node may have been given to another job meanwhile")
	work(7)
	assert.Equal(t, map[uint32]scene.Late{7: {Until: now.Add(lateRest - 10*time.Second), Refused: "Requested nodes are busy"}}, h.Memory.Late.All())
	h.Slurm = busy{}
	for range 9 {
		work(8)
	}
	assert.NotContains(t, h.Memory.Late.All(), uint32(8), "slurmctld may be restarting")
}

// J4: each pass may make a new door, whose name has the time of the pass.
func TestJobThatIsRefusedItsReservationAgainAndAgainIsDelayed(t *testing.T) {
	now := time.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC)
	h := Hands{Slurm: busy{answer: "any text"}, Memory: &memory.Memory{}, Log: zap.NewNop(), Now: func() time.Time { return now }}
	work := func(address string, leave bool) map[uint32]scene.Late {
		h.Work(t.Context(), []action.Action{action.UseReservation{
			OfReservation: action.OfReservation{Name: memo.DoorReservation("alpha", "7", now)}, Job: 7, Address: address, Leave: leave,
		}})
		now = now.Add(10 * time.Second)
		return h.Memory.Late.All()
	}
	for _, task := range []string{"7_0", "7_1", "7_2"} {
		assert.Empty(t, work(task, false), "each task once")
	}
	assert.Empty(t, work("7_0", false))
	assert.Equal(t, map[uint32]scene.Late{7: {Until: now.Add(lateRest), Refused: "any text", Unusable: true}}, work("7_0", false))
	h.Memory = &memory.Memory{}
	for range 9 {
		assert.Empty(t, work("7", true), "a job that is to leave its reservation has one")
	}
	h.Slurm = busy{}
	for range 9 {
		assert.Empty(t, work("7", false), "slurmctld may be restarting")
	}
}

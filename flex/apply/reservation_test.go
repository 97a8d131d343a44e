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

// answer is an error of scontrol with slurmctld's answer.
type answer string

func (a answer) Error() string  { return "scontrol create reservation: " + string(a) }
func (a answer) Answer() string { return string(a) }

// desk is a Slurm that answers changes of reservations with an error, and remembers the last start.
type desk struct {
	Scheduler
	err   error
	start time.Time
}

func (d *desk) CreateReservation(context.Context, slurm.ReservationSpec) error { return d.err }

func (d *desk) SetReservationOf(context.Context, string, string) error { return d.err }

func (d *desk) DeleteReservation(context.Context, string) error { return d.err }

func (d *desk) SetReservation(_ context.Context, _ string, change slurm.ReservationChange) error {
	d.start = change.Start
	return d.err
}

// at returns hands at a time that the caller may change.
func at(d *desk) (h Hands, now *time.Time) {
	now = new(time.Time)
	*now = time.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC)
	return Hands{Slurm: d, Memory: &memory.Memory{}, Log: zap.NewNop(), Now: func() time.Time { return *now }}, now
}

func TestJobThatGetsOrUsesNoReservationIsLate(t *testing.T) {
	h, now := at(&desk{err: slurm.ErrUserUnknown})
	require.ErrorIs(t, h.createReservation(t.Context(), action.CreateReservation{Job: 7, User: "eve"}), slurm.ErrUserUnknown)
	require.Error(t, h.createReservation(t.Context(), action.CreateReservation{}))
	assert.Equal(t, map[uint32]scene.Late{7: {Until: now.Add(lateRest), Unknown: true}}, h.Memory.Late.All())
	h, _ = at(&desk{})
	require.NoError(t, h.deleteReservation(t.Context(), action.DeleteReservation{Job: 7, Unused: true, Late: "Resources"}))
	assert.Equal(t, map[uint32]scene.Late{7: {Until: now.Add(lateRest), Reason: "Resources"}}, h.Memory.Late.All())
}

// Each time its machines are billed.
func TestJobThatIsLateAgainRestsTwiceAsLong(t *testing.T) {
	h, now := at(&desk{})
	for _, rest := range []time.Duration{5 * time.Minute, 10 * time.Minute, 20 * time.Minute, 40 * time.Minute, 80 * time.Minute, 80 * time.Minute} {
		require.NoError(t, h.deleteReservation(t.Context(), action.DeleteReservation{Job: 7, Unused: true, Late: "Resources"}))
		assert.Equal(t, now.Add(rest), h.Memory.Late.All()[7].Until)
		*now = now.Add(rest + time.Hour)
	}
}

func TestReservationStartsWhenItIsChangedNotWhenItWasPlanned(t *testing.T) {
	d := &desk{}
	h, now := at(d)
	for planned, start := range map[time.Duration]time.Duration{-40 * time.Second: 0, time.Hour: time.Hour} {
		require.NoError(t, h.setReservation(t.Context(), action.SetReservation{ReservationChange: slurm.ReservationChange{Start: now.Add(planned)}}))
		assert.Equal(t, now.Add(start), d.start)
	}
}

// The name of a door has the time of its pass.
func TestReservationThatIsRefusedAgainAndAgainDelaysTheJob(t *testing.T) {
	h, now := at(&desk{err: answer("Requested nodes are busy")})
	work := func(job uint32) {
		h.Work(t.Context(), []action.Action{action.CreateReservation{
			OfReservation: action.OfReservation{Name: memo.DoorReservation("alpha", "7", *now)}, Nodes: []string{"alpha-a3-0"}, Job: job, User: "ann",
		}})
		*now = now.Add(10 * time.Second)
	}
	work(7)
	work(7)
	assert.Empty(t, h.Memory.Late.All(), "a node may have been given to another job meanwhile")
	work(7)
	assert.Equal(t, map[uint32]scene.Late{7: {Until: now.Add(lateRest - 10*time.Second), Refused: "Requested nodes are busy"}}, h.Memory.Late.All())
	h.Slurm = &desk{err: answer("")}
	for range 9 {
		work(8)
	}
	assert.NotContains(t, h.Memory.Late.All(), uint32(8), "slurmctld may be restarting")
}

// J4: each pass may make a new door, whose name has the time of the pass.
func TestJobThatIsRefusedItsReservationAgainAndAgainIsDelayed(t *testing.T) {
	h, now := at(&desk{err: answer("any text")})
	work := func(address string, leave bool) map[uint32]scene.Late {
		h.Work(t.Context(), []action.Action{action.UseReservation{
			OfReservation: action.OfReservation{Name: memo.DoorReservation("alpha", "7", *now)}, Job: 7, Address: address, Leave: leave,
		}})
		*now = now.Add(10 * time.Second)
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
	h.Slurm = &desk{err: answer("")}
	for range 9 {
		assert.Empty(t, work("7", false), "slurmctld may be restarting")
	}
}

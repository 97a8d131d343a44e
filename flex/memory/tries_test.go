package memory

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"slurmflex/flex/plan/action"
	"slurmflex/flex/plan/memo"
)

// The name of a door has the time of its pass.
func TestRefusedDoorIsRetriedLessAndLessOften(t *testing.T) {
	var m Memory
	now := time.Unix(1900000000, 0)
	tries, times := 0, 0
	for range 600 {
		now = now.Add(time.Second)
		door := action.CreateReservation{OfReservation: action.OfReservation{Name: memo.DoorReservation("alpha", "7", now)}, Nodes: []string{"alpha-a3-0"}, Job: 7, User: "ann"}
		if m.IsDue(door, now) {
			tries++
			times, _ = m.Tried(door, errors.New("Requested nodes are busy"), now)
		}
	}
	assert.Equal(t, tries, times)
	assert.Less(t, tries, 30)
}

func TestErrorOfAnActionIsNewsOnceAnHour(t *testing.T) {
	var m Memory
	change := action.SetNodes{Nodes: []string{"alpha-a3-0"}, State: "resume"}
	down, busy := errors.New("slurmctld is down"), errors.New("slurmctld is busy")
	for _, step := range []struct {
		after  time.Duration
		err    error
		isNews bool
	}{
		{0, down, true},
		{59 * time.Minute, down, false},
		{60 * time.Minute, down, true},
		{61 * time.Minute, busy, true},
		{62 * time.Minute, nil, false},
		{63 * time.Minute, busy, true},
	} {
		_, isNews := m.Tried(change, step.err, noon.Add(step.after))
		assert.Equal(t, step.isNews, isNews, step.after)
	}
}

// A host's clock may run ahead for a while.
func TestFailureInTheFutureDelaysNothing(t *testing.T) {
	var m Memory
	change := action.SetNodes{Nodes: []string{"alpha-a3-0"}, State: "resume"}
	ahead := noon.Add(24 * time.Hour)
	m.Tried(change, errors.New("Invalid node state specified"), ahead)
	assert.False(t, m.IsDue(change, ahead))
	assert.True(t, m.IsDue(change, noon))
}

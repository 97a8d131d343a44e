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
	var r Retries
	now := time.Unix(1900000000, 0)
	tries, times := 0, 0
	for range 600 {
		now = now.Add(time.Second)
		door := action.CreateReservation{OfReservation: action.OfReservation{Name: memo.DoorReservation("alpha", "7", now)}, Nodes: []string{"alpha-a3-0"}, Job: 7, User: "ann"}
		if r.IsDue(door, now) {
			tries++
			times = r.Note(door, errors.New("Requested nodes are busy"), now)
		}
	}
	assert.Equal(t, tries, times)
	assert.Less(t, tries, 30)
}

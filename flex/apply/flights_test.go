package apply

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"slurmflex/flex/plan/action"
	"slurmflex/mig"
)

func TestQueueInFlightIsNotStartedAgain(t *testing.T) {
	var f Flights
	deletes := []action.Action{action.DeleteGroup{Of: action.Of{Group: mig.GroupID{Region: "us-central1", Name: "g"}}}}
	begun := f.begin(deletes)
	assert.Len(t, begun, 1)
	assert.Empty(t, f.begin(deletes), "it is in progress")
	close(begun[0].ended)
	assert.Empty(t, f.begin(deletes), "this pass may have looked too early to see its result")
	f.Forget()
	assert.Len(t, f.begin(deletes), 1)
}

package fakegce

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestZoneThatIsDownOrLacksTheMachineTypeGrantsNothing(t *testing.T) {
	for name, shut := range map[string]func(*world){
		"down":      func(w *world) { w.SetZoneUp("us-central1-a", false) },
		"withdrawn": func(w *world) { w.Withdraw("us-central1-a", testMachine) },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, Options{})
			shut(w)
			w.givenGroup("m", "us-central1-a", "us-central1-b")
			w.givenRequest("m", "r", "n0")
			assert.Equal(t, "us-central1-b", w.vm("n0").Zone)
			op := w.begun(w.bulkInsert(bulkOf(5, "b0", "b1", "b2", "b3", "b4")))
			assert.Empty(t, w.outcome(op))
			assert.NotEqual(t, "us-central1-a", w.vm("b0").Zone)
			w.givenGroup("a", "us-central1-a")
			w.begun(w.insertRequest("a", namedRequest("r", "x0")))
			g, _ := w.State().Group("a")
			if name == "down" {
				assert.Equal(t, stateAccepted, g.Requests[0].State, "it waits for the zone")
				w.SetZoneUp("us-central1-a", true)
				w.Advance(DefaultAttemptInterval)
				assert.Equal(t, "us-central1-a", w.vm("x0").Zone)
				return
			}
			assert.Contains(t, g.Requests[0].Error, "INVALID_MACHINE_TYPE")
		})
	}
}

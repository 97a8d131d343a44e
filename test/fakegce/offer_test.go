package fakegce

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestAZoneIsUpUntilItIsSaidToBeDown(t *testing.T) {
	w := newWorld(t, Options{})
	up := func(zone string) bool {
		_, body := w.ask(http.MethodGet, "zones/"+zone, "")
		return strings.Contains(body, `"status":"UP"`)
	}
	assert.True(t, up("us-central1-a"))
	w.SetZoneUp("us-central1-a", false)
	assert.False(t, up("us-central1-a"))
	assert.True(t, up("us-central1-b"))
	w.SetZoneUp("us-central1-a", true)
	assert.True(t, up("us-central1-a"))
}

func TestAMachineTypeThatIsWithdrawnIsInNoListOfItsZone(t *testing.T) {
	w := newWorld(t, Options{})
	w.Withdraw("us-central1-a", testMachine)
	_, list := w.ask(http.MethodGet, "aggregated/machineTypes?filter=name="+testMachine, "")
	for zone, want := range map[string]bool{"us-central1-a": false, "us-central1-b": true} {
		assert.Equal(t, want, strings.Contains(list, "zones/"+zone+"/machineTypes/"+testMachine), zone)
		status, _ := w.ask(http.MethodGet, "zones/"+zone+"/machineTypes/"+testMachine, "")
		assert.Equal(t, want, status == http.StatusOK, zone)
	}
}

func TestAZoneThatIsDownOrHasNoSuchMachinesGrantsNothing(t *testing.T) {
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

func TestEveryAnswerHasTheDateOfTheServersClock(t *testing.T) {
	clock := NewManualClock(time.Date(2026, 11, 1, 8, 0, 0, 0, time.UTC))
	s := New(Options{Clock: clock})
	s.Advance(time.Hour)
	for _, path := range []string{"/compute/v1/projects/demo/regions/us-central1", "/compute/v1/projects/demo/regions/atlantis"} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://fake"+path, http.NoBody)
		require.NoError(t, err)
		resp, err := s.Transport().RoundTrip(req)
		require.NoError(t, err)
		resp.Body.Close()
		assert.Equal(t, "Sun, 01 Nov 2026 09:00:00 GMT", resp.Header.Get("Date"))
	}
}

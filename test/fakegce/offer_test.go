package fakegce

import (
	"net/http"
	"testing"
	"time"

	compute "cloud.google.com/go/compute/apiv1"
	"cloud.google.com/go/compute/apiv1/computepb"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestAZoneIsUpUntilItIsSaidToBeDown(t *testing.T) {
	w := newWorld(t, Options{})
	zones, err := compute.NewZonesRESTClient(t.Context(), w.options...)
	require.NoError(t, err)
	status := func(zone string) string {
		z, err := zones.Get(t.Context(), &computepb.GetZoneRequest{Project: testProject, Zone: zone})
		require.NoError(t, err)
		return z.GetStatus()
	}
	assert.Equal(t, "UP", status("us-central1-a"))
	w.SetZoneUp("us-central1-a", false)
	assert.Equal(t, "DOWN", status("us-central1-a"))
	assert.Equal(t, "UP", status("us-central1-b"))
	w.SetZoneUp("us-central1-a", true)
	assert.Equal(t, "UP", status("us-central1-a"))
}

func TestAMachineTypeThatIsWithdrawnIsInNoListOfItsZone(t *testing.T) {
	w := newWorld(t, Options{})
	types, err := compute.NewMachineTypesRESTClient(t.Context(), w.options...)
	require.NoError(t, err)
	w.Withdraw("us-central1-a", testMachine)
	has := func(zone string) (got, listed bool) {
		_, err := types.Get(t.Context(), &computepb.GetMachineTypeRequest{Project: testProject, Zone: zone, MachineType: testMachine})
		for m, err := range types.List(t.Context(), &computepb.ListMachineTypesRequest{Project: testProject, Zone: zone}).All() {
			require.NoError(t, err)
			listed = listed || m.GetName() == testMachine
		}
		return err == nil, listed
	}
	got, listed := has("us-central1-a")
	assert.False(t, got || listed)
	got, listed = has("us-central1-b")
	assert.True(t, got && listed)
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

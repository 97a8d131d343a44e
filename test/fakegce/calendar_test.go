package fakegce

import (
	"encoding/json"
	"fmt"
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	compute "google.golang.org/api/compute/v1"
)

// calendarFor is a call of advice.calendarMode for machines of that type.
func calendarFor(machine string, count int, rest string) string {
	return fmt.Sprintf(`{"futureResourcesSpecs":{"gang":{"targetResources":{"specificSkuResources":{"machineType":%q,"instanceCount":"%d"}}%s}}}`,
		machine, count, rest)
}

const aWeek = `,"timeRangeSpec":{"startTimeNotEarlierThan":"2026-11-10T00:00:00Z","minDuration":"86400s","maxDuration":"604800s"}`

func (w *world) reserved(body string) compute.FutureResourcesRecommendation {
	w.t.Helper()
	status, answer := w.ask(http.MethodPost, "regions/us-central1/advice/calendarMode", body)
	require.Equal(w.t, http.StatusOK, status, answer)
	got := new(compute.CalendarModeAdviceResponse)
	require.NoError(w.t, json.Unmarshal([]byte(answer), got))
	require.Len(w.t, got.Recommendations, 1)
	return got.Recommendations[0].RecommendationsPerSpec["gang"]
}

func TestTheCalendarAdvisesAZoneWithRoomAndSaysWhyNotTheOthers(t *testing.T) {
	w := newWorld(t, Options{})
	w.SetCapacity("us-central1-a", testMachine, 3)
	w.Withdraw("us-central1-c", testMachine)
	got := w.reserved(calendarFor(testMachine, 4, aWeek))
	assert.Equal(t, "zones/us-central1-b", got.Location)
	assert.Equal(t, "FUTURE_RESERVATION", got.RecommendationType)
	assert.Contains(t, got.StartTime, "2026-11-10T00:00:00")
	assert.Contains(t, got.EndTime, "2026-11-17T00:00:00")
	assert.Equal(t, "NO_CAPACITY", got.OtherLocations["zones/us-central1-a"].Status)
	assert.Equal(t, "NOT_SUPPORTED", got.OtherLocations["zones/us-central1-c"].Status)
	assert.Equal(t, "RECOMMENDED", got.OtherLocations["zones/us-central1-f"].Status)
}

func TestTheCalendarLeavesOutDeniedZones(t *testing.T) {
	w := newWorld(t, Options{})
	got := w.reserved(calendarFor(testMachine, 4, aWeek+`,"locationPolicy":{"locations":{"zones/us-central1-a":{"preference":"DENY"}}}`))
	assert.Equal(t, "zones/us-central1-b", got.Location)
	assert.NotContains(t, got.OtherLocations, "zones/us-central1-a")
}

func TestTheCalendarRecommendsNothingThatNoReservationMayHave(t *testing.T) {
	w := newWorld(t, Options{})
	aggregate := `{"futureResourcesSpecs":{"gang":{"targetResources":{"aggregateResources":{"acceleratorCount":"8"}}` + aWeek + `}}}`
	for body, status := range map[string]string{
		calendarFor(testMachine, 81, aWeek):                                   "CONDITIONS_NOT_MET",
		calendarFor(testMachine, 1, `,"timeRangeSpec":{"maxDuration":"60s"}`): "CONDITIONS_NOT_MET",
		calendarFor("n1-standard-8", 1, aWeek):                                "NOT_SUPPORTED",
		aggregate:                                                             "NOT_SUPPORTED",
	} {
		got := w.reserved(body)
		assert.Empty(t, got.Location, body)
		assert.Equal(t, status, got.OtherLocations["zones/us-central1-a"].Status, body)
	}
}

func TestTheCalendarRefusesWhatItCannotRead(t *testing.T) {
	w := newWorld(t, Options{})
	for body, message := range map[string]string{
		`{}`:                                   "It has 0 values, and must have 1.",
		`{"futureResourcesSpecs":{"gang":{}}}`: "Required field 'resource.futureResourcesSpecs.gang.targetResources'",
		calendarFor("x1", 1, aWeek):            "'x1'. The machine type does not exist.",
		calendarFor(testMachine, 0, aWeek):     "must be at least 1",
		calendarFor(testMachine, 1, ""):        "timeRangeSpec",
		calendarFor(testMachine, 1, `,"timeRangeSpec":{"startTimeNotEarlierThan":"soon"}`):                                  "'soon'. It is not a time of RFC 3339.",
		calendarFor(testMachine, 1, `,"timeRangeSpec":{"maxDuration":"1w"}`):                                                "'1w'. It is not a duration",
		calendarFor(testMachine, 1, `,"timeRangeSpec":{"maxDuration":"24h30s"}`):                                            "'24h30s'. It is not a duration",
		calendarFor(testMachine, 1, `,"timeRangeSpec":{"maxDuration":"86400000ms"}`):                                        "'86400000ms'. It is not a duration",
		calendarFor(testMachine, 1, `,"timeRangeSpec":{"maxDuration":"-86400s"}`):                                           "'-86400s'. It is not a duration",
		calendarFor(testMachine, 1, `,"timeRangeSpec":{"minDuration":"90000s","maxDuration":"86400s"}`):                     "No time range fits it.",
		calendarFor(testMachine, 1, aWeek+`,"locationPolicy":{"locations":{"zones/europe-west4-a":{"preference":"DENY"}}}`): "It is not a zone of region 'us-central1'",
	} {
		status, answer := w.ask(http.MethodPost, "regions/us-central1/advice/calendarMode", body)
		assert.Equal(t, http.StatusBadRequest, status, body)
		assert.Contains(t, answer, message, body)
	}
}

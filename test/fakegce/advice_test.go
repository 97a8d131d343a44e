package fakegce

import (
	"encoding/json"
	"fmt"
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/api/compute/v1"
)

// adviceAbout returns a request body that asks for advice about size VMs of a3-highgpu-8g. It
// appends more to the body.
func adviceAbout(model string, size int, more string) string {
	return fmt.Sprintf(`{"instanceProperties":{"scheduling":{"provisioningModel":%q}},"size":%d,
		"instanceFlexibilityPolicy":{"instanceSelections":{"a3":{"machineTypes":["a3-highgpu-8g"]}}}%s}`, model, size, more)
}

// advised asks for advice and returns the only recommendation.
func (w *world) advised(body string) *compute.CapacityAdviceResponseRecommendation {
	w.t.Helper()
	status, answer := w.ask(http.MethodPost, "regions/us-central1/advice/capacity", body)
	require.Equal(w.t, http.StatusOK, status, answer)
	var response compute.CapacityAdviceResponse
	require.NoError(w.t, json.Unmarshal([]byte(answer), &response))
	require.Len(w.t, response.Recommendations, 1)
	return response.Recommendations[0]
}

func TestAdviceReportsHowManyVMsFitNow(t *testing.T) {
	w := newWorld(t, Options{})
	w.SetCapacity("", "", 0)
	w.SetCapacity("us-central1-a", "", 1)
	w.SetCapacity("us-central1-b", "", 3)
	for body, want := range map[string]string{
		adviceAbout("FLEX_START", 3, ""):                                                                 "1.00 b:3",
		adviceAbout("FLEX_START", 4, ""):                                                                 "0.75 b:3",
		adviceAbout("FLEX_START", 4, `,"distributionPolicy":{"targetShape":"ANY"}`):                      "1.00 a:1 b:3",
		adviceAbout("FLEX_START", 2, `,"distributionPolicy":{"zones":[{"zone":"zones/us-central1-a"}]}`): "0.50 a:1",
		adviceAbout("SPOT", 2, `,"distributionPolicy":{"zones":[{"zone":"zones/us-central1-c"}]}`):       "0.00",
	} {
		got := w.advised(body)
		text := fmt.Sprintf("%.2f", got.Scores.Obtainability)
		for _, s := range got.Shards {
			text += fmt.Sprintf(" %s:%d", s.Zone[len("us-central1-"):], s.InstanceCount)
			assert.Equal(t, "a3-highgpu-8g", s.MachineType)
		}
		assert.Equal(t, want, text, body)
	}
	w.given([]string{"n0"})
	assert.InDelta(t, 0, w.advised(adviceAbout("FLEX_START", 1, `,"distributionPolicy":{"zones":[{"zone":"zones/us-central1-a"}]}`)).Scores.Obtainability, 0, "n0 has the room")
}

func TestAdviceOmitsZonesThatAreDownOrLackTheMachineType(t *testing.T) {
	w := newWorld(t, Options{})
	w.commanded("POST", "zones", `{"zone":"us-central1-a","up":false}`)
	w.commanded("POST", "withdraw", `{"zone":"us-central1-b","machineType":"a3-highgpu-8g"}`)
	got := w.advised(adviceAbout("FLEX_START", 1, ""))
	require.Len(t, got.Shards, 1)
	assert.Equal(t, "us-central1-c", got.Shards[0].Zone)
	for _, zone := range w.zonesOf(testRegion) {
		w.SetZoneUp(zone, false)
	}
	got = w.advised(adviceAbout("FLEX_START", 1, ""))
	assert.InDelta(t, 0, got.Scores.Obtainability, 0)
	assert.Empty(t, got.Shards)
	w.commanded("POST", "zones", `{"zone":"us-central1-a","up":true}`)
	assert.InDelta(t, 1, w.advised(adviceAbout("FLEX_START", 1, "")).Scores.Obtainability, 0)
}

func TestAdviceRefusesInvalidQuestions(t *testing.T) {
	w := newWorld(t, Options{})
	selections := func(s string) string {
		return `{"instanceProperties":{"scheduling":{"provisioningModel":"SPOT"}},"size":1,"instanceFlexibilityPolicy":{"instanceSelections":{` + s + `}}}`
	}
	for body, message := range map[string]string{
		``:                                       "Required field 'resource'",
		`{"size":1}`:                             "provisioningModel",
		adviceAbout("CHEAP", 1, ""):              "'CHEAP'. Must be one of: FLEX_START",
		adviceAbout("SPOT", 0, ""):               "'resource.size': '0'",
		selections(``):                           "Required field 'resource.instanceFlexibilityPolicy.instanceSelections'",
		selections(`"a":{}`):                     "one selection with one machine type",
		selections(`"a":{"machineTypes":["x"]}`): "'x'. The machine type does not exist.",
		adviceAbout("SPOT", 1, `,"distributionPolicy":{"targetShape":"EVEN"}`):                      "'EVEN'. Must be one of: ANY",
		adviceAbout("SPOT", 1, `,"distributionPolicy":{"zones":[{"zone":"zones/europe-west4-a"}]}`): "It is not a zone of region 'us-central1'",
	} {
		status, answer := w.ask(http.MethodPost, "regions/us-central1/advice/capacity", body)
		assert.NotEqual(t, http.StatusOK, status, body)
		assert.Contains(t, answer, message, body)
	}
}

package gce

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestCallsFollowTheRateAfterABurst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, begun := newLimiter(2, 3), time.Now()
		var at []time.Duration
		for range 6 {
			require.NoError(t, l.wait(t.Context(), toLook))
			at = append(at, time.Since(begun))
		}
		assert.Equal(t, []time.Duration{0, 0, 0, 500 * time.Millisecond, time.Second, 1500 * time.Millisecond}, at)
		time.Sleep(time.Hour)
		begun = time.Now()
		for range 3 {
			require.NoError(t, l.wait(t.Context(), toLook))
		}
		assert.Zero(t, time.Since(begun), "a pause saves up one burst")
		require.NoError(t, l.wait(t.Context(), toLook))
		assert.Equal(t, 500*time.Millisecond, time.Since(begun))
	})
}

func TestUrgentCallsAreSentFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLimiter(1, 1)
		require.NoError(t, l.wait(t.Context(), toLook))
		order := make(chan string, 8)
		come := func(call string) {
			method, path, _ := strings.Cut(call, " ")
			go func() {
				if assert.NoError(t, l.wait(t.Context(), urgencyOf(httptest.NewRequest(method, path, http.NoBody)))) {
					order <- call
				}
			}()
			synctest.Wait()
		}
		const group = "/compute/v1/projects/p/regions/r/instanceGroupManagers/g"
		come("GET /compute/v1/projects/p/zones/z/instances?maxResults=500")
		come("POST " + group + "/listManagedInstances")
		come("POST " + group + "/resizeRequests")
		come("POST " + group + "/resizeRequests/r/cancel")
		come("POST " + group + "/deleteInstances")
		come("DELETE " + group)
		come("POST /compute/v1/projects/p/regions/r/instances/bulkInsert")
		for _, call := range []string{
			"POST " + group + "/resizeRequests/r/cancel", "POST " + group + "/deleteInstances", "DELETE " + group,
			"POST " + group + "/resizeRequests", "POST /compute/v1/projects/p/regions/r/instances/bulkInsert",
			"GET /compute/v1/projects/p/zones/z/instances?maxResults=500", "POST " + group + "/listManagedInstances",
		} {
			assert.Equal(t, call, <-order)
		}
	})
}

package gce

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

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

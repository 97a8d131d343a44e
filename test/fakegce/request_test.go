package fakegce

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// slow returns options that give each step a different duration, so that a test can
// distinguish them.
func slow() Options {
	return Options{
		OperationTime: 2 * time.Second, BootTime: 20 * time.Second, DeleteTime: 10 * time.Second, AttemptInterval: time.Minute,
	}
}

func TestLateCancelFailsItsOperationWithoutHTTPStatus(t *testing.T) {
	w := granted(t, slow(), "n0")
	w.Advance(9 * time.Second)
	op := w.begun(w.cancelRequest("m", "r"))
	w.Advance(2 * time.Second)
	assert.Equal(t, "SUCCEEDED", w.request("m", "r").GetState())
	now := w.operation(op.Name())
	assert.Equal(t, "CONDITION_NOT_MET", now.GetError().GetErrors()[0].GetCode())
	assert.Equal(t, finalStateText, now.GetError().GetErrors()[0].GetMessage())
	assert.Nil(t, now.HttpErrorStatusCode)
	assert.NoError(t, op.Poll(t.Context()), "so Google's client takes it for a success")
}

func TestFinishedRequestIsRemovedAfterFourteenDays(t *testing.T) {
	w := queued(t, Options{AttemptInterval: time.Hour}, "n0")
	w.givenRequest("m", "waits", "n1")
	w.begun(w.cancelRequest("m", "r"))
	w.Advance(14*24*time.Hour - time.Second)
	assert.Equal(t, "CANCELLED", w.request("m", "r").GetState())
	w.Advance(time.Second)
	g, _ := w.State().Group("m")
	require.Len(t, g.Requests, 1)
	assert.Equal(t, "waits", g.Requests[0].Name, "no request expires while it waits")
	assert.Equal(t, 14*24+1, g.Requests[0].Attempts)
}

func TestRegionAllowsAHundredActiveRequests(t *testing.T) {
	w := queued(t, Options{}, "n1")
	require.NoError(t, w.SetQuota(testRegion, "ACTIVE_RESIZE_REQUESTS", 2))
	w.givenRequest("m", "r2", "n2")
	op := w.begun(w.insertRequest("m", namedRequest("r3", "n3")))
	e := w.operation(op.Name()).GetError().GetErrors()[0]
	assert.Equal(t, "QUOTA_EXCEEDED", e.GetCode())
	assert.Equal(t, "Quota 'ACTIVE_RESIZE_REQUESTS' exceeded.  Limit: 2.0 in region us-central1.", e.GetMessage())

	w.begun(w.cancelRequest("m", "r"))
	w.givenRequest("m", "r4", "n4")
	assert.Equal(t, "ACCEPTED", w.request("m", "r4").GetState(), "cancelled requests do not count")
}

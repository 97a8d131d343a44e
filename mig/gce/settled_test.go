package gce_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"slurmflex/mig"
	"slurmflex/test/fakegce"
)

func TestSettledGroupsRequestsAreReadOnce(t *testing.T) {
	const list = "regionInstanceGroupManagerResizeRequests.list"
	inWorld(t, func(w world) {
		ctx := w.Context()
		const group = "alpha-a3-job-812"
		w.grown(w.spec(group, 812), "alpha-a3-0", "alpha-a3-1")
		reads := func() int {
			before := w.cloud.Counts()[list]
			w.group()
			return w.cloud.Counts()[list] - before
		}
		assert.Equal(w, 1, reads())
		assert.Equal(w, 1, reads(), "it waits for capacity")
		time.Sleep(time.Minute)
		assert.Equal(w, 1, reads(), "it has its machines")
		assert.Zero(w, reads(), "and the cache is valid")
		_, unseen := w.Groups(ctx, "alpha", []string{"europe-west4"})
		require.Empty(w, unseen)
		assert.Zero(w, reads(), "reading another region does not drop the cache")
		assert.Equal(w, mig.Succeeded, w.group().Requests[0].State)

		require.NoError(w, w.DeleteInstances(ctx, region, group, w.seen()[:1]))
		time.Sleep(time.Minute)
		assert.Zero(w, reads(), "it has shrunk")

		w.cloud.SetCapacity("", "", 0)
		again := mig.RequestSpec{Name: "a2", Instances: []string{"alpha-a3-0"}, Duration: time.Hour}
		require.NoError(w, w.another().CreateRequest(ctx, region, group, again))
		time.Sleep(time.Second)
		assert.Len(w, w.group().Live(), 1, "another process's request is seen")

		time.Sleep(time.Minute)
		require.NoError(w, w.CancelRequest(ctx, region, group, "a2"))
		time.Sleep(time.Minute)
		assert.Equal(w, 1, reads())
		assert.Zero(w, reads())
		time.Sleep(time.Hour)
		assert.Equal(w, 1, reads(), "now and then it is read all the same")
		require.NoError(w, w.DeleteRequest(ctx, region, group, "a2"))
		assert.Len(w, w.group().Requests, 1, "a deleted request is forgotten")
	})
}

func TestRecreatedGroupIsReadAgain(t *testing.T) {
	inWorld(t, func(w world) {
		ctx, spec := w.Context(), w.spec("alpha-a3-job-812", 812)
		w.fault(fakegce.Fault{
			Method: "regionInstanceGroupManagerResizeRequests.insert", Times: 1,
			OperationError: &fakegce.Problem{Code: "QUOTA_EXCEEDED", Message: "no"},
		})
		require.NoError(w, w.CreateGroup(ctx, spec))
		require.Error(w, w.CreateRequest(ctx, region, spec.Name, request("alpha-a3-0")))
		for range 2 {
			assert.Len(w, w.group().Requests, 1)
		}
		require.NoError(w, w.DeleteGroup(ctx, region, spec.Name))
		time.Sleep(time.Minute)
		require.NoError(w, w.CreateGroup(ctx, spec))
		assert.Empty(w, w.group().Requests)
	})
}

func TestGroupWithUnexplainedCreationIsNotSettled(t *testing.T) {
	inWorld(t, func(w world) {
		w.cloud.SetCapacity("", "", 0)
		w.asked()
		w.fault(fakegce.Fault{
			Method: "regionInstanceGroupManagerResizeRequests.list", Lag: time.Minute, Times: 1,
		})
		g := w.group()
		assert.Empty(w, g.Requests, "the list lags behind")
		assert.Equal(w, 1, g.Creating)
		assert.Len(w, w.group().Live(), 1)
	})
}

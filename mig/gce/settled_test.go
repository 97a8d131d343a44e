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
	inWorld(t, func(t *testing.T, w world) {
		ctx := t.Context()
		const group = "alpha-a3-job-812"
		w.grown(w.spec(group, 812), "alpha-a3-0", "alpha-a3-1")
		reads := func() int {
			before := w.cloud.Counts()[list]
			w.group()
			return w.cloud.Counts()[list] - before
		}
		assert.Equal(t, 1, reads())
		assert.Equal(t, 1, reads(), "it waits for capacity")
		time.Sleep(time.Minute)
		assert.Equal(t, 1, reads(), "it has its machines")
		assert.Zero(t, reads(), "and the cache is valid")
		_, unseen := w.Groups(ctx, "alpha", []string{"europe-west4"})
		require.Empty(t, unseen)
		assert.Zero(t, reads(), "reading another region does not drop the cache")
		assert.Equal(t, mig.Succeeded, w.group().Requests[0].State)

		require.NoError(t, w.DeleteInstances(ctx, region, group, w.seen()[:1]))
		time.Sleep(time.Minute)
		assert.Zero(t, reads(), "it has shrunk")

		w.cloud.SetCapacity("", "", 0)
		again := mig.RequestSpec{Name: "a2", Instances: []string{"alpha-a3-0"}, Duration: time.Hour}
		require.NoError(t, w.another().CreateRequest(ctx, region, group, again))
		time.Sleep(time.Second)
		assert.Len(t, w.group().Live(), 1, "another process's request is seen")

		time.Sleep(time.Minute)
		require.NoError(t, w.CancelRequest(ctx, region, group, "a2"))
		time.Sleep(time.Minute)
		assert.Equal(t, 1, reads())
		assert.Zero(t, reads())
		time.Sleep(time.Hour)
		assert.Equal(t, 1, reads(), "now and then it is read all the same")
		require.NoError(t, w.DeleteRequest(ctx, region, group, "a2"))
		assert.Len(t, w.group().Requests, 1, "a deleted request is forgotten")
	})
}

func TestRecreatedGroupIsReadAgain(t *testing.T) {
	inWorld(t, func(t *testing.T, w world) {
		ctx, spec := t.Context(), w.spec("alpha-a3-job-812", 812)
		w.fault(fakegce.Fault{
			Method: "regionInstanceGroupManagerResizeRequests.insert", Times: 1,
			OperationError: &fakegce.Problem{Code: "QUOTA_EXCEEDED", Message: "no"},
		})
		require.NoError(t, w.CreateGroup(ctx, spec))
		require.Error(t, w.CreateRequest(ctx, region, spec.Name, request("alpha-a3-0")))
		for range 2 {
			assert.Len(t, w.group().Requests, 1)
		}
		require.NoError(t, w.DeleteGroup(ctx, region, spec.Name))
		time.Sleep(time.Minute)
		require.NoError(t, w.CreateGroup(ctx, spec))
		assert.Empty(t, w.group().Requests)
	})
}

func TestGroupWithUnexplainedCreationIsNotSettled(t *testing.T) {
	inWorld(t, func(t *testing.T, w world) {
		w.cloud.SetCapacity("", "", 0)
		w.asked()
		w.fault(fakegce.Fault{
			Method: "regionInstanceGroupManagerResizeRequests.list", Lag: time.Minute, Times: 1,
		})
		g := w.group()
		assert.Empty(t, g.Requests, "the list lags behind")
		assert.Equal(t, 1, g.Creating)
		assert.Len(t, w.group().Live(), 1)
	})
}

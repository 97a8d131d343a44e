package gce_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"slurmflex/mig"
	"slurmflex/test/fakegce"
)

func (w world) policy(name string) mig.PolicySpec {
	return mig.PolicySpec{Name: name, Region: region, Distance: "BLOCK", Stamp: w.spec(name, 812).Stamp}
}

func TestTheLifeOfAWorkloadPolicy(t *testing.T) {
	inWorld(t, func(t *testing.T, w world) {
		ctx := t.Context()
		spec := w.spec("alpha-a3-job-812", 812)
		spec.Policy = spec.Name
		err := w.CreateGroup(ctx, spec)
		assert.Equal(t, mig.CauseConflict, mig.CauseOf(err), "not before its policy: %v", err)

		require.NoError(t, w.CreatePolicy(ctx, w.policy(spec.Policy)))
		assert.Equal(t, mig.CauseExists, mig.CauseOf(w.CreatePolicy(ctx, w.policy(spec.Policy))))
		policies, unseen := w.Policies(ctx, "alpha", []string{region, "europe-west4"})
		require.Empty(t, unseen)
		require.Len(t, policies, 1)
		assert.WithinDuration(t, time.Now(), policies[0].Created, time.Minute)
		policies[0].Created = time.Time{}
		assert.Equal(t, mig.Policy{Name: spec.Policy, Region: region, Stamp: spec.Stamp, Distance: "BLOCK"}, policies[0])

		require.NoError(t, w.CreateGroup(ctx, spec))
		assert.Equal(t, spec.Policy, w.group(t).Policy)
		err = w.DeletePolicy(ctx, region, spec.Policy)
		assert.Equal(t, mig.CauseConflict, mig.CauseOf(err), "not before its group: %v", err)

		require.NoError(t, w.DeleteGroup(ctx, region, spec.Name))
		require.NoError(t, w.DeletePolicy(ctx, region, spec.Policy))
		assert.Empty(t, w.cloud.State().Policies)
		assert.Equal(t, mig.CauseNotFound, mig.CauseOf(w.DeletePolicy(ctx, region, spec.Policy)))
	})
}

func TestPoliciesAreReadFromAllPagesAndOnlyOurs(t *testing.T) {
	inWorld(t, func(t *testing.T, w world) {
		for _, name := range []string{"alpha-x", "alpha-y", "beta-z"} {
			require.NoError(t, w.CreatePolicy(t.Context(), w.policy(name)))
		}
		foreign := w.policy("alpha-foreign")
		foreign.Stamp.Cluster = "beta"
		require.NoError(t, w.CreatePolicy(t.Context(), foreign))
		policies, unseen := w.Policies(t.Context(), "alpha", []string{region})
		require.Empty(t, unseen)
		var names []string
		for _, p := range policies {
			names = append(names, p.Name)
		}
		assert.Equal(t, []string{"alpha-x", "alpha-y"}, names)
	}, func(o *fakegce.Options) { o.PageLimit = 1 })
}

func TestOnlyARequestThatHasEndedCanBeTakenOffTheRecords(t *testing.T) {
	tests := map[string]struct {
		capacity int
		cancel   bool
		cause    mig.Cause
		left     int // requests on record
	}{
		"succeeded": {capacity: 1},
		"waiting":   {cause: mig.CauseConflict, left: 1},
		"cancelled": {cancel: true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(t *testing.T, w world) {
				ctx := t.Context()
				w.cloud.SetCapacity("", "", test.capacity)
				require.NoError(t, w.CreateGroup(ctx, w.spec("alpha-x", 1)))
				require.NoError(t, w.CreateRequest(ctx, region, "alpha-x", request("alpha-a3-0")))
				time.Sleep(time.Minute)
				if test.cancel {
					require.NoError(t, w.CancelRequest(ctx, region, "alpha-x", "a1"))
				}
				err := w.DeleteRequest(ctx, region, "alpha-x", "a1")
				assert.Equal(t, test.cause, mig.CauseOf(err), "%v", err)
				assert.Len(t, w.group(t).Requests, test.left)
				assert.Len(t, w.seen(t), test.capacity, "its instances stay")
			})
		})
	}
}

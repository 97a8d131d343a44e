package gce_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"slurmflex/mig"
	"slurmflex/test/fakegce"
)

func TestGroupReadsItsCurrentRequests(t *testing.T) {
	inWorld(t, func(t *testing.T, w world) {
		w.cloud.SetCapacity("", "", 0)
		_, err := w.Client.Group(t.Context(), region, "alpha-x")
		assert.Equal(t, mig.CauseNotFound, mig.CauseOf(err))
		w.asked()
		g, err := w.Client.Group(t.Context(), region, "alpha-x")
		require.NoError(t, err)
		assert.Equal(t, w.group(), g, "as the list shows it")
		require.NoError(t, w.CancelRequest(t.Context(), region, "alpha-x", "a1"))
		g, err = w.Client.Group(t.Context(), region, "alpha-x")
		require.NoError(t, err)
		assert.Equal(t, mig.Cancelled, g.Requests[0].State)
		w.fault(fakegce.Fault{Method: "*ResizeRequests.list", Broken: &fakegce.Broken{Field: "state", Value: 7}})
		_, err = w.Client.Group(t.Context(), region, "alpha-x")
		assert.ErrorContains(t, err, "read group alpha-x: answer not understood: ")
	})
}

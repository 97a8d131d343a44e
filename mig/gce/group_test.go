package gce_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"slurmflex/mig"
	"slurmflex/test/fakegce"
)

func TestGroupReadsItsCurrentRequests(t *testing.T) {
	inWorld(t, func(w world) {
		w.cloud.SetCapacity("", "", 0)
		_, err := w.Client.Group(w.Context(), region, "alpha-x")
		assert.Equal(w, mig.CauseNotFound, mig.CauseOf(err))
		w.asked()
		g, err := w.Client.Group(w.Context(), region, "alpha-x")
		require.NoError(w, err)
		assert.Equal(w, w.group(), g, "as the list shows it")
		require.NoError(w, w.CancelRequest(w.Context(), region, "alpha-x", "a1"))
		g, err = w.Client.Group(w.Context(), region, "alpha-x")
		require.NoError(w, err)
		assert.Equal(w, mig.Cancelled, g.Requests[0].State)
		w.fault(fakegce.Fault{Method: "*ResizeRequests.list", Broken: &fakegce.Broken{Field: "state", Value: 7}})
		_, err = w.Client.Group(w.Context(), region, "alpha-x")
		assert.ErrorContains(w, err, "read group alpha-x: answer not understood: ")
	})
}

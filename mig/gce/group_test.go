package gce_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"slurmflex/test/fakegce"
)

func TestGroupReadsItsCurrentRequests(t *testing.T) {
	inWorld(t, func(w world) {
		w.cloud.SetCapacity("", "", 0)
		w.asked()
		g, err := w.Client.Group(w.Context(), region, "alpha-x")
		require.NoError(w, err)
		assert.Equal(w, w.group(), g, "as the list shows it")
		w.fault(fakegce.Fault{Method: "*ResizeRequests.list", Broken: &fakegce.Broken{Field: "state", Value: 7}})
		_, err = w.Client.Group(w.Context(), region, "alpha-x")
		assert.ErrorContains(w, err, "read group alpha-x: answer not understood: ")
	})
}

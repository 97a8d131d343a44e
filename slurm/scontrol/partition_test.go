package scontrol

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestPartitionIsClosedByName(t *testing.T) {
	for _, name := range []string{"train_a3.x-1", "gpu+cpu", "a3@us"} {
		c := newClient(t, dummy{})
		require.NoError(t, c.ClosePartition(t.Context(), name))
		require.Equal(t, []string{"scontrol update partitionname=" + name + " state=down"}, asked(t, c))
	}
}

func TestInvalidPartitionNameClosesNothing(t *testing.T) {
	c := newClient(t, dummy{})
	for _, name := range []string{"", "a b", "a,b", "-a", "a state=up", "a=b", "a\nb"} {
		require.ErrorContains(t, c.ClosePartition(t.Context(), name), "is not a partition's name")
	}
	require.Empty(t, calls(t, c))
}

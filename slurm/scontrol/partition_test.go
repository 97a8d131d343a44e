package scontrol

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestPartitionIsClosedByName(t *testing.T) {
	c := newClient(t, dummy{})
	var want []string
	for _, name := range []string{"train_a3.x-1", "gpu+cpu", "a3@us"} {
		require.NoError(t, c.ClosePartition(t.Context(), name))
		want = append(want, "scontrol update partitionname="+name+" state=down")
	}
	for _, name := range []string{"", "a b", "a,b", "-a", "a=b", "a\nb"} {
		require.ErrorContains(t, c.ClosePartition(t.Context(), name), "is not a partition's name")
	}
	require.Equal(t, want, asked(t, c))
}

package config

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A node is found by its exact name only, however it is written.
func FuzzFind(f *testing.F) {
	c, err := Parse("c.yaml", []byte(valid))
	require.NoError(f, err)
	for _, ns := range c.NodeSets {
		f.Add(ns.NodeName(c.Cluster, 0))
		f.Add(ns.NodeName(c.Cluster, ns.Size()))
		f.Add(ns.NodeName(c.Cluster+"-"+ns.Name, 0))
		f.Add(c.Cluster + "-" + ns.Name + "-00")
		f.Add(c.Cluster + "-" + ns.Name + "--1")
	}
	f.Fuzz(func(t *testing.T, node string) {
		ns, index, ok := c.Find(node)
		if !ok {
			return
		}
		require.Equal(t, node, ns.NodeName(c.Cluster, index))
		require.Less(t, index, ns.Size())
		require.GreaterOrEqual(t, index, 0)
	})
}

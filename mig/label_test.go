package mig

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestAStampIsTheSameAfterItStoodInLabels(t *testing.T) {
	for name, stamp := range map[string]Stamp{
		"for a job":    {Version: StampVersion, Cluster: "alpha", NodeSet: "a3", Job: 4294967295},
		"for one node": {Version: StampVersion, Cluster: "alpha", NodeSet: "a3-x", Node: "alpha-a3-x-7"},
	} {
		t.Run(name, func(t *testing.T) {
			got, ok := StampOfLabels(stamp.Labels())
			assert.True(t, ok)
			assert.Equal(t, stamp, got)
		})
	}
}

func TestLabelsOfOthersAreNoStamp(t *testing.T) {
	for name, labels := range map[string]map[string]string{
		"none":                {},
		"of another program":  {"slurm_cluster_name": "alpha", "slurm_instance_role": "compute"},
		"without a nodeset":   {labelCluster: "alpha", labelJob: "812"},
		"without a cluster":   {labelNodeSet: "a3", labelJob: "812"},
		"a job without digit": {labelCluster: "alpha", labelNodeSet: "a3", labelJob: "x"},
		"too large a job":     {labelCluster: "alpha", labelNodeSet: "a3", labelJob: "4294967296"},
	} {
		t.Run(name, func(t *testing.T) {
			stamp, ok := StampOfLabels(labels)
			assert.False(t, ok)
			assert.Zero(t, stamp)
		})
	}
}

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

func TestInstancesFromBeforeStampsHadAVersionAreStillOurs(t *testing.T) {
	stamp, ok := StampOfLabels(map[string]string{labelCluster: "alpha", labelNodeSet: "a3", labelJob: "812"})
	assert.True(t, ok)
	assert.Equal(t, Stamp{Version: 1, Cluster: "alpha", NodeSet: "a3", Job: 812}, stamp)
}

func TestLabelsOfOthersAreNoStamp(t *testing.T) {
	for name, labels := range map[string]map[string]string{
		"none":                {},
		"of another program":  {"slurm_cluster_name": "alpha", "slurm_instance_role": "compute"},
		"without a nodeset":   {labelCluster: "alpha", labelJob: "812"},
		"without a cluster":   {labelNodeSet: "a3", labelJob: "812"},
		"a job without digit": {labelCluster: "alpha", labelNodeSet: "a3", labelJob: "x"},
		"of a successor":      {labelVersion: "2", labelCluster: "alpha", labelNodeSet: "a3", labelJob: "812"},
		"of no version":       {labelVersion: "one", labelCluster: "alpha", labelNodeSet: "a3"},
		"of version 0":        {labelVersion: "0", labelCluster: "alpha", labelNodeSet: "a3"},
		"too large a job":     {labelCluster: "alpha", labelNodeSet: "a3", labelJob: "4294967296"},
	} {
		t.Run(name, func(t *testing.T) {
			stamp, ok := StampOfLabels(labels)
			assert.False(t, ok)
			assert.Zero(t, stamp)
		})
	}
}

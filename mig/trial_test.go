package mig

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestTrialIsRecognizedByNameAndStamp(t *testing.T) {
	stamp := Stamp{Version: StampVersion, Cluster: "alpha-trial-kxqzv", NodeSet: "a3"}
	assert.Equal(t, "alpha-trial-kxqzv", TrialName("alpha", "kxqzv"))
	for _, name := range []string{TrialGroup(stamp.Cluster), TrialPolicy(stamp.Cluster)} {
		assert.True(t, stamp.IsTrialOf("alpha", name), name)
		assert.False(t, stamp.IsTrialOf("alph", name), "another cluster's")
		assert.False(t, stamp.IsTrialOf("alpha-trial-kxqzv", name), "its own cluster's, which a trial lists")
	}
	for what, s := range map[string]Stamp{
		"of the cluster":               {Version: 1, Cluster: "alpha", NodeSet: "a3"},
		"of a cluster with a job":      {Version: 1, Cluster: "alpha-trial-kxqzv", NodeSet: "a3", Job: 8},
		"of a cluster with a node":     {Version: 1, Cluster: "alpha-trial-kxqzv", NodeSet: "a3", Node: "alpha-trial-kxqzv-g-0"},
		"of a cluster with an array":   {Version: 1, Cluster: "alpha-trial-kxqzv", NodeSet: "a3", Array: 8},
		"of too many letters":          {Version: 1, Cluster: "alpha-trial-kxqzvv", NodeSet: "a3"},
		"of a name with a suffix":      {Version: 1, Cluster: "alpha-trial-kxqzv-b", NodeSet: "a3"},
		"of a trial of another's name": {Version: 1, Cluster: "alpha-b-trial-kxqzv", NodeSet: "a3"},
	} {
		assert.False(t, s.IsTrialOf("alpha", TrialGroup(s.Cluster)), what)
	}
	for _, name := range []string{"alpha-trial-kxqzv-job-8", "alpha-trial-kxqzv", "alpha-trial-kxqzv-x", "alpha-trial-vvvvv-g", ""} {
		assert.False(t, stamp.IsTrialOf("alpha", name), name)
	}
}

package main

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestAPartOfAConfigurationGoesOverTheWhole(t *testing.T) {
	const base = "project: p\nnodeset:\n  a3: {subnetwork: s, dws_flex: {max_attempts: 3}}\n"
	for name, c := range map[string]struct{ over, want string }{
		"a key is added":                           {"slurmflex: {interval: 5s}", base + "slurmflex: {interval: 5s}\n"},
		"a key is exchanged":                       {"project: q", "project: q\nnodeset: {a3: {subnetwork: s, dws_flex: {max_attempts: 3}}}"},
		"an inner key leaves its neighbours":       {"nodeset: {a3: {dws_flex: {enabled: true}}}", "project: p\nnodeset: {a3: {subnetwork: s, dws_flex: {max_attempts: 3, enabled: true}}}"},
		"a new nodeset is like a3 where it is not": {"nodeset: {b: {dws_flex: {max_attempts: 1}}}", base + "  b: {nodeset_name: b, subnetwork: s, dws_flex: {max_attempts: 1}}\n"},
	} {
		assert.YAMLEq(t, c.want, string(merge([]byte(base), []byte(c.over))), name)
	}
}

func TestLinesOfSlurmConfGetTheHeadThatTheyLack(t *testing.T) {
	assert.Equal(t, "ClusterName=alpha\nSlurmctldHost=localhost(127.0.0.1)\nSlurmctldPort=1\nAuthType=auth/none\nCredType=cred/none\n"+
		"GresTypes=gpu\nNodeName=alpha-a3-[0-63] State=CLOUD\nResumeRate=0\n", slurmConf("ResumeRate=0\n"))
	assert.NotContains(t, slurmConf("ClusterName=beta\n"), "ClusterName=alpha")
	assert.NotContains(t, slurmConf("PartitionName=a Nodes=b PowerDownOnIdle=YES MaxTime=1\n"), "PowerDownOnIdle")
}

func TestCommandsAreCountedOnce(t *testing.T) {
	assert.Equal(t, 2, commands("# first\nsbatch \\\n  job.sh\n\nsqueue\n"))
}

package memory

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"slurmflex/flex/plan"
	"slurmflex/flex/plan/scene"
	"slurmflex/mig"
	"slurmflex/slurm"
	"slurmflex/test/scenetest"
)

func TestBadHostsAreRememberedForADay(t *testing.T) {
	noon := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	first, last := scene.BadHost{Node: "n0", At: noon.Add(-23 * time.Hour)}, scene.BadHost{Node: "n1", At: noon}
	h := Hosts{Recorded: func(since time.Time) map[string]scene.BadHost {
		assert.Equal(t, noon.Add(-24*time.Hour), since)
		return map[string]scene.BadHost{"first": first, "last": last}
	}}
	assert.Equal(t, map[string]scene.BadHost{"first": first, "last": last}, h.matter(noon))
	assert.Equal(t, map[string]scene.BadHost{"last": last}, h.matter(noon.Add(time.Hour)))
}

func TestHostOfAMachineThatFailsItsCheckIsRemembered(t *testing.T) {
	w := scenetest.New(scenetest.Cluster("partitions:\n  train: {partition_nodeset: [a3]}", scenetest.FlexSet("a3", "us-central1-a", "node_count_dynamic_max: 2", "health_check: 60")))
	w.Nodes("alpha-a3-[0-1]", "IDLE+CLOUD")
	w.Group("alpha-a3-job-7", mig.Stamp{NodeSet: "a3", Job: 7})
	w.Machines("alpha-a3-[0-1]", "alpha-a3-job-7")
	w.Snap.Instances[0].Host, w.Snap.Instances[1].Host = "1/2/3", "1/2/4"
	w.Node("alpha-a3-0").State, w.Node("alpha-a3-0").Reason = slurm.ParseState("IDLE+CLOUD+DRAIN"), "health: no GPU"
	var m Memory
	assert.Empty(t, m.Begin(scenetest.Noon, w.Config).BadHosts)
	m.Planned(w.Scene(), plan.Plan{})
	assert.Equal(t, map[string]scene.BadHost{"1/2/3": {Node: "alpha-a3-0", Why: "no GPU", At: scenetest.Noon}}, m.Begin(scenetest.Noon, w.Config).BadHosts)
}

package memory

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"slurmflex/config"
	"slurmflex/flex/plan"
	"slurmflex/flex/plan/scene"
	"slurmflex/mig"
	"slurmflex/slurm"
	"slurmflex/test/scenetest"
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

func TestBadHostsAreRememberedForADay(t *testing.T) {
	first, last := scene.BadHost{Node: "n0", At: noon.Add(-23 * time.Hour)}, scene.BadHost{Node: "n1", At: noon}
	recorded := func(since time.Time) map[string]scene.BadHost {
		assert.Equal(t, noon.Add(-24*time.Hour), since)
		return map[string]scene.BadHost{"first": first, "last": last}
	}
	var m Memory
	snap := m.Begin(noon, &config.Config{}, recorded)
	assert.Equal(t, map[string]scene.BadHost{"first": first, "last": last}, snap.BadHosts)
	m.Complete(&snap, &config.Config{})
	assert.Equal(t, map[string]scene.BadHost{"last": last}, m.Begin(noon.Add(time.Hour), &config.Config{}, recorded).BadHosts)
}

func TestHostOfAMachineThatFailsItsCheckIsRemembered(t *testing.T) {
	w := scenetest.New(scenetest.Cluster("partitions:\n  train: {partition_nodeset: [a3]}", scenetest.FlexSet("a3", "us-central1-a", "node_count_dynamic_max: 2", "health_check: 60")))
	w.Nodes("alpha-a3-[0-1]", "IDLE+CLOUD")
	w.Group("alpha-a3-job-7", mig.Stamp{NodeSet: "a3", Job: 7})
	w.Machines("alpha-a3-[0-1]", "alpha-a3-job-7")
	w.Snap.Instances[0].Host, w.Snap.Instances[1].Host = "1/2/3", "1/2/4"
	w.Node("alpha-a3-0").State, w.Node("alpha-a3-0").Reason = slurm.ParseState("IDLE+CLOUD+DRAIN"), "health: no GPU"
	var m Memory
	assert.Empty(t, m.Begin(scenetest.Noon, w.Config, nil).BadHosts)
	m.Planned(w.Scene(), plan.Plan{})
	assert.Equal(t, map[string]scene.BadHost{"1/2/3": {Node: "alpha-a3-0", Why: "no GPU", At: scenetest.Noon}}, m.Begin(scenetest.Noon, w.Config, nil).BadHosts)
}

// The first pass reads what later passes know.
func TestPassAfterAFailedReadingIsTheFirst(t *testing.T) {
	var m Memory
	m.Begin(noon, &config.Config{}, nil) // Slurm does not answer
	snap := m.Begin(noon.Add(time.Minute), &config.Config{}, nil)
	assert.Equal(t, snap.Begun, snap.Started)
	m.Complete(&snap, &config.Config{})
	assert.Equal(t, snap.Begun, m.Begin(noon.Add(2*time.Minute), &config.Config{}, nil).Started)
}

// The clock was a day ahead when the job did not start in time.
func TestLateJobIsForgottenAfterADay(t *testing.T) {
	for name, c := range map[string]struct {
		noted time.Time
		known bool
	}{
		"after its rest": {noon.Add(-time.Hour), true}, "after a day": {noon.Add(-24 * time.Hour), false}, "noted by a fast clock": {noon.Add(24 * time.Hour), false},
	} {
		var m Memory
		m.Late.Note(7, scene.Late{Until: c.noted.Add(5 * time.Minute)}, c.noted)
		snap := m.Begin(noon, &config.Config{}, nil)
		snap.Now = noon
		m.Complete(&snap, &config.Config{})
		assert.Equal(t, c.known, len(snap.Late) == 1, name)
	}
}

package history

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"slurmflex/flex/plan/scene"
	"slurmflex/slurm"
)

func TestHostOfAMachineThatFailedItsCheckIsRecorded(t *testing.T) {
	w := booting(t)
	w.Config.FlexSetOf(node).Flex.HealthCheck = time.Minute
	w.Snap.Jobs, w.Snap.Instances[0].Host = nil, "1/2/3"
	w.Nodes(node, "IDLE+CLOUD+DRAIN")
	w.Snap.Nodes[0].Reason, w.Snap.Nodes[0].State = "health: no GPU", slurm.ParseState("IDLE+CLOUD+DRAIN")
	w.Snap.BadHosts = map[string]scene.BadHost{"1/2/3": {Node: "alpha-a3-2", At: at(-60)}}
	w.later(1)
	w.gone()
	e := w.ended()
	assert.Equal(t, Entry{Host: "1/2/3", Unhealthy: "no GPU", BadHost: true}, Entry{Host: e.Host, Unhealthy: e.Unhealthy, BadHost: e.BadHost})
	bad := BadHosts(w.dir, "alpha")
	assert.Equal(t, map[string]scene.BadHost{"1/2/3": {Node: node, Why: "no GPU", At: e.To.Time()}}, bad(noon))
	assert.Empty(t, bad(e.To.Time().Add(time.Second)))
}

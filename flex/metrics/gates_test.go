package metrics

import (
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/assert"

	"slurmflex/flex/gate"
)

func TestAGateSavesTimeOnlyIfItWaitedForNodesThatCameUp(t *testing.T) {
	w := newWorld(t)
	w.Gates(3)
	assert.Equal(t, 3.0, testutil.ToFloat64(w.gates.held))
	w.GateOpened(gate.Up, []string{"alpha-a3-0", "alpha-a3-1", "alpha-g2-0", "alpha-cpu-0"}, true)
	w.GateOpened(gate.Up, []string{"alpha-a3-2"}, false)
	w.GateOpened(gate.Left, []string{"alpha-a3-3"}, true)
	assert.Equal(t, 30.0, testutil.ToFloat64(w.gates.saved.WithLabelValues("a3")))
	assert.Equal(t, 15.0, testutil.ToFloat64(w.gates.saved.WithLabelValues("g2")))
	for why, n := range map[gate.Outcome]float64{gate.Up: 2, gate.Left: 1, gate.Full: 0} {
		assert.Equal(t, n, testutil.ToFloat64(w.gates.opened.WithLabelValues(string(why))), why)
	}
}

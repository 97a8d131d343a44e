package history

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"slurmflex/slurm"
	"slurmflex/test/scenetest"
)

func TestNodeIsRegisteredWhileItsSlurmdAnswers(t *testing.T) {
	for state, want := range map[string]bool{
		scenetest.Idle: true, scenetest.Busy: true, "MIXED+CLOUD+DRAIN": true, "IDLE+CLOUD+NOT_RESPONDING": false,
		scenetest.PoweringUp: false, "IDLE+CLOUD+POWERING_DOWN": false, "DOWN+CLOUD": false,
	} {
		assert.Equal(t, want, slurm.ParseState(state).Registered(), state)
	}
}

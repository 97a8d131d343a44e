package history

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"slurmflex/mig"
	"slurmflex/slurm"
	"slurmflex/test/scenetest"
)

func TestNodeIsRegisteredWhileItsSlurmdAnswers(t *testing.T) {
	for state, want := range map[string]bool{
		scenetest.Idle: true, scenetest.Busy: true, "MIXED+CLOUD+DRAIN": true, "IDLE+CLOUD+NOT_RESPONDING": false,
		scenetest.PoweringUp: false, "IDLE+CLOUD+POWERING_DOWN": false, "DOWN+CLOUD": false,
	} {
		assert.Equal(t, want, Registered(slurm.ParseState(state)), state)
	}
}

// C14: a failed attempt does not shorten the wait.
func TestNewsHasOnceWhatHappensToAWaitAndItsMachine(t *testing.T) {
	w := newWorld(t)
	failed := request("a1", mig.Failed, noon, node)
	failed.Cause = mig.CauseCapacity
	w.pending(812)
	w.requests(812, failed)
	w.later(1)
	w.requests(812, failed, request("a2", mig.Accepted, w.Snap.Now, node))
	w.later(1)
	w.requests(812, failed, request("a2", mig.Succeeded, w.ago(time.Minute), node))
	w.Machine(node, group).Created = w.Snap.Now
	w.Nodes(node, rising)
	w.look(0)
	w.Nodes(node, free)
	w.later(4)
	w.Nodes(node, busy)
	w.running(815, w.Snap.Now)
	for range 2 {
		w.restart()
		w.later(1)
	}
	var kinds []What
	for _, n := range w.news {
		kinds = append(kinds, n.What)
	}
	assert.Equal(t, []What{RequestFailed, MachinesCreated, NodeRegistered, MachineReused}, kinds)
	assert.Equal(t, mig.CauseCapacity, w.news[0].Cause)
	assert.EqualValues(t, 120, w.news[1].Entry.Took(), "since the first attempt")
	assert.EqualValues(t, 240, w.news[2].Seconds)
}

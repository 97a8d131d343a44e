package history

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"slurmflex/mig"
)

// minutes is the time that many minutes after noon in the history.
func minutes(n int) Time { return At(at(n)) }

func TestRecorderRemembersTheLastDay(t *testing.T) {
	w := newWorld(t)
	w.asked(mig.Succeeded, w.Snap.Now, node)
	w.Machine(node, group).Created = w.Snap.Now
	w.later(1)
	w.gone()
	assert.Empty(t, w.recorder.Day(), "it does not, unless it must")
	w.restart()
	w.recorder.Remembers = true
	kinds := func() (kinds []Kind) {
		w.later(1)
		for _, e := range w.recorder.Day() {
			kinds = append(kinds, e.Kind)
		}
		return kinds
	}
	assert.Equal(t, []Kind{Wait, Lease}, kinds())
	w.requests(813, request("a2", mig.Accepted, w.Snap.Now, node))
	assert.Equal(t, []Kind{Wait, Lease, Wait}, kinds())
	assert.True(t, w.recorder.Day()[2].Ongoing)
	w.requests(813, request("a2", mig.Cancelled, w.ago(time.Minute), node))
	assert.Equal(t, []Kind{Wait, Lease, Wait}, kinds())
	assert.Equal(t, Withdrawn, w.recorder.Day()[2].End)
	w.look(Length + time.Hour)
	assert.Empty(t, w.recorder.Day())
}

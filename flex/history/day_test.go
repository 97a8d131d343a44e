package history

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"slurmflex/flex/view"
	"slurmflex/mig"
)

// minutes is the time that many minutes after noon in the history.
func minutes(n int) Time { return At(at(n)) }

func TestLeaseHasPhases(t *testing.T) {
	e := Entry{Kind: Lease, From: minutes(0), To: minutes(60), Booting: 300, Uses: []Use{
		{From: minutes(10), To: minutes(30)}, {From: minutes(20), To: minutes(40)}, {From: minutes(25), To: minutes(35)}, {From: minutes(50), To: minutes(60)},
	}}
	assert.Equal(t, []Phase{
		{minutes(0), minutes(5), view.Booting},
		{minutes(5), minutes(10), view.Idle},
		{minutes(10), minutes(30), view.Running},
		{minutes(30), minutes(40), view.Running},
		{minutes(40), minutes(50), view.Idle},
		{minutes(50), minutes(60), view.Running},
	}, e.Phases())
	assert.Equal(t, []Phase{{minutes(0), minutes(2), view.Waiting}}, (&Entry{Kind: Wait, From: minutes(0), To: minutes(2)}).Phases())
}

func TestSamplesCountNodesMinuteByMinute(t *testing.T) {
	assert.Empty(t, Samples(nil, noon))
	now := noon.Add(4*time.Minute + 30*time.Second)
	samples := Samples([]Entry{
		{Kind: Wait, Machine: "a3-highgpu-8g", Count: 2, GPUs: 16, From: minutes(0), To: minutes(2)},
		{Kind: Lease, Machine: "a3-highgpu-8g", Count: 1, GPUs: 8, From: minutes(2), To: minutes(4), Booting: 60, Ongoing: true},
		{Kind: Lease, Machine: "unheard-of", Count: 1, From: minutes(3), To: minutes(4), Uses: []Use{{From: minutes(3), To: minutes(4)}}},
	}, now)
	require.Len(t, samples, 5)
	assert.Equal(t, now, samples[4].At)
	assert.Equal(t, Sample{At: noon.Add(30 * time.Second), Nodes: map[view.State]int{view.Waiting: 2}, Sum: 2}, samples[0])
	assert.Equal(t, map[view.State]int{view.Booting: 1}, samples[2].Nodes)
	assert.Equal(t, map[view.State]int{view.Idle: 1, view.Running: 1}, samples[3].Nodes)

	assert.Len(t, Samples([]Entry{{Kind: Wait, Count: 1, From: minutes(-3 * 24 * 60), To: minutes(-60)}}, noon), 24*60+1, "a day")
}

func TestRecorderRemembersTheLastDay(t *testing.T) {
	w := newWorld(t)
	w.asked(mig.Succeeded, w.Snap.Now, node)
	w.Machine(node, group).Created = w.Snap.Now
	w.later(1)
	w.gone()
	assert.Empty(t, w.recorder.Day(), "it does not, unless it must")
	w.restart()
	w.recorder.Remember()
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

package web

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"slurmflex/flex/history"
	"slurmflex/flex/view"
)

// minutes is the time that many minutes after noon in the history.
func minutes(n int) history.Time { return history.At(noon.Add(time.Duration(n) * time.Minute)) }

func TestLeaseHasPhases(t *testing.T) {
	e := history.Entry{Kind: history.Lease, From: minutes(0), To: minutes(60), Booting: 300, Uses: []history.Use{
		{From: minutes(10), To: minutes(30)}, {From: minutes(20), To: minutes(40)}, {From: minutes(25), To: minutes(35)}, {From: minutes(50), To: minutes(60)},
	}}
	assert.Equal(t, []phase{
		{minutes(0), minutes(5), view.Booting},
		{minutes(5), minutes(10), view.Idle},
		{minutes(10), minutes(30), view.Running},
		{minutes(30), minutes(40), view.Running},
		{minutes(40), minutes(50), view.Idle},
		{minutes(50), minutes(60), view.Running},
	}, phases(&e))
	assert.Equal(t, []phase{{minutes(0), minutes(2), view.Waiting}}, phases(&history.Entry{Kind: history.Wait, From: minutes(0), To: minutes(2)}))
}

func TestSamplesCountNodesMinuteByMinute(t *testing.T) {
	assert.Empty(t, samplesOf(nil, noon))
	now := noon.Add(4*time.Minute + 30*time.Second)
	samples := samplesOf([]history.Entry{
		{Kind: history.Wait, Machine: "a3-highgpu-8g", Count: 2, GPUs: 16, From: minutes(0), To: minutes(2)},
		{Kind: history.Lease, Machine: "a3-highgpu-8g", Count: 1, GPUs: 8, From: minutes(2), To: minutes(4), Booting: 60, Ongoing: true},
		{Kind: history.Lease, Machine: "unheard-of", Count: 1, From: minutes(3), To: minutes(4), Uses: []history.Use{{From: minutes(3), To: minutes(4)}}},
	}, now)
	require.Len(t, samples, 5)
	assert.Equal(t, now, samples[4].At)
	assert.Equal(t, sample{At: noon.Add(30 * time.Second), Nodes: map[view.State]int{view.Waiting: 2}, Sum: 2}, samples[0])
	assert.Equal(t, map[view.State]int{view.Booting: 1}, samples[2].Nodes)
	assert.Equal(t, map[view.State]int{view.Idle: 1, view.Running: 1}, samples[3].Nodes)

	assert.Len(t, samplesOf([]history.Entry{{Kind: history.Wait, Count: 1, From: minutes(-3 * 24 * 60), To: minutes(-60)}}, noon), 24*60+1, "a day")
}

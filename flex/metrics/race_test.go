package metrics

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"slurmflex/flex/history"
	"slurmflex/flex/leader"
)

const raceLost = "slurmflex_race_lost_machine_seconds_total"

// lease returns a lease of a machine.
func lease(id string) *history.Entry {
	return &history.Entry{Version: history.Version, Kind: history.Lease, ID: id, Count: 1, From: 1000, To: 1650}
}

func TestRaceLossIsCountedOnce(t *testing.T) {
	w := newWorld(t)
	assert.Zero(t, w.value(raceLost, "a3"), "the counter exists before it counts")
	deleted, reused := lease("1"), lease("2")
	deleted.NodeSet, reused.NodeSet = "a3", "a3"
	for _, e := range []*history.Entry{deleted, reused} {
		w.Leased(e, false)
	}
	reused.RaceLost = 300
	w.Leased(reused, false)
	w.Leased(reused, false)
	assert.EqualValues(t, 300, w.value(raceLost, "a3"), "another job got the machine")
	deleted.RaceLost = 650
	w.Leased(deleted, true)
	w.Leased(reused, true)
	assert.EqualValues(t, 950, w.value(raceLost, "a3"))
	assert.Zero(t, w.value(raceLost, "g2"))
	assert.Empty(t, w.events.raced)
}

func TestRaceLossOfAnEarlierProcessIsNotCountedAgain(t *testing.T) {
	w := newWorld(t)
	e := lease("1")
	e.NodeSet, e.RaceLost = "a3", 300
	w.Leased(e, false)
	w.Leased(e, true)
	assert.Zero(t, w.value(raceLost, "a3"))
}

func TestRaceLossIsCountedOnceAcrossAStandby(t *testing.T) {
	w := newWorld(t)
	e := lease("1")
	e.NodeSet = "a3"
	w.Leased(e, false)
	e.RaceLost = 300
	w.Leased(e, false)
	w.Stood(leader.ErrStandby)
	w.Leased(e, true) // it has ended meanwhile
	assert.EqualValues(t, 300, w.value(raceLost, "a3"))
	assert.Empty(t, w.events.raced)
}

package metrics

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"slurmflex/flex/history"
)

func TestEndedLeaseCountsItsRaceLossAndItsFailedCheck(t *testing.T) {
	const raceLost, failed = "slurmflex_race_lost_machine_seconds_total", "slurmflex_failed_checks_total"
	w := newWorld(t)
	assert.Zero(t, w.value(raceLost, "a3"), "the counter exists before it counts")
	for _, e := range []history.Entry{
		{NodeSet: "a3", RaceLost: 300},
		{NodeSet: "a3", RaceLost: 650, Unhealthy: "ECC", BadHost: true},
		{NodeSet: "a3", Unhealthy: "ECC"},
		{NodeSet: "a3"},
	} {
		w.Count(history.News{What: history.LeaseEnded, Entry: e})
	}
	assert.EqualValues(t, 950, w.value(raceLost, "a3"))
	assert.Zero(t, w.value(raceLost, "g2"))
	assert.EqualValues(t, 1, w.value(failed, "again", "a3"))
	assert.EqualValues(t, 1, w.value(failed, "new", "a3"))
}

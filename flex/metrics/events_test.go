package metrics

import (
	"testing"

	"slurmflex/flex/history"
)

func TestEndedLeaseCountsItsRaceLossAndItsFailedCheck(t *testing.T) {
	const raceLost, failed = "slurmflex_race_lost_machine_seconds_total", "slurmflex_failed_checks_total"
	w := newWorld(t)
	w.counts(0, raceLost, "a3") // the counter exists before it counts
	for _, e := range []history.Entry{
		{NodeSet: "a3", RaceLost: 300},
		{NodeSet: "a3", RaceLost: 650, Unhealthy: "ECC", BadHost: true},
		{NodeSet: "a3", Unhealthy: "ECC"},
		{NodeSet: "a3"},
	} {
		w.Count(history.News{What: history.LeaseEnded, Entry: e})
	}
	w.counts(950, raceLost, "a3")
	w.counts(0, raceLost, "g2")
	w.counts(1, failed, "again", "a3")
	w.counts(1, failed, "new", "a3")
}

package main

import (
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"slurmflex/flex/history"
)

func TestTheUsageOfTheLastDaysIsReadAgainAfterSomeMinutes(t *testing.T) {
	w := newWorld(t)
	w.leases(t) // on the 3rd, four machine hours in all
	now := time.Date(2026, 11, 16, 12, 0, 0, 0, time.Local)
	u := &usage{dir: w.path("history"), cluster: "alpha", now: func() time.Time { return now }}
	hours := func() (first float64) {
		days, err := u.days()
		require.NoError(t, err)
		require.Len(t, days, usageDays)
		for _, row := range days[0].Accounts {
			first += float64(row.All()) / 3600
		}
		return first
	}
	assert.InDelta(t, 4, hours(), .01)
	require.NoError(t, os.Remove(history.Path(w.path("history"), "alpha")))
	assert.InDelta(t, 4, hours(), .01, "as it was read a moment ago")
	now = now.Add(usageAge + time.Second)
	assert.Zero(t, hours())
}

func TestTheUsageIsOfTheLastDaysOnly(t *testing.T) {
	w := newWorld(t)
	w.leases(t)
	u := &usage{dir: w.path("history"), cluster: "alpha", now: func() time.Time { return time.Date(2026, 11, 17, 12, 0, 0, 0, time.Local) }}
	days, err := u.days()
	require.NoError(t, err)
	for _, d := range days {
		assert.Empty(t, d.Accounts)
	}
}

package estimate

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"slurmflex/flex/history"
)

// The example is Freireich's from 1963, as in textbooks: remissions of leukaemia in weeks, with a
// drug and without. Its log-rank statistic is the root of 16.79.
func TestLogRankMatchesTheTextbook(t *testing.T) {
	const drug, placebo = 1, 2 // the count of a sample
	var waits []Sample
	for _, weeks := range []int64{6, 6, 6, -6, 7, -9, 10, -10, -11, 13, 16, -17, -19, -20, 22, 23, -25, -32, -32, -34, -35} {
		waits = append(waits, Sample{Took: max(weeks, -weeks), Granted: weeks > 0, count: drug})
	}
	for _, weeks := range []int64{1, 1, 2, 2, 3, 4, 4, 5, 5, 8, 8, 8, 8, 11, 11, 12, 12, 15, 17, 22, 23} {
		waits = append(waits, Sample{Took: weeks, Granted: true, count: placebo})
	}
	inOrder(waits)
	var l logRank
	l.add(waits, func(s Sample) bool { return s.count == drug })
	assert.InDelta(t, 16.79, l.statistic()*l.statistic(), .01)
	assert.Negative(t, l.statistic())
}

func TestChangeIsReportedForFourWeeks(t *testing.T) {
	entries := simulate(rand.New(rand.NewPCG(3, 4)), func(t history.Time) float64 { return slower(t + (changeDay-20)*day) })
	after := func(days int) *Change {
		now := history.Time(firstDay + (20+days)*day)
		e, ok := known(entries, now).For(shapes[0], 0, now)
		require.True(t, ok)
		return e.Change
	}
	assert.Nil(t, after(0))
	week := after(7)
	require.NotNil(t, week)
	assert.InDelta(t, 7, week.Days, 1)
	assert.InDelta(t, 4, week.Slower, 1.2)
	assert.NotNil(t, after(20))
	assert.Nil(t, after(39))
}

// A job that has waited since before the change lacks peers since the change.
func TestLongWaitIsEstimatedFromBeforeTheChange(t *testing.T) {
	var entries []*history.Entry
	for i := range 40 {
		entries = append(entries, wait(int64(20+i)*hour, 4, 4*hour, 30), wait(int64(60+i), 4, 4*hour, 2))
	}
	s := of(entries...)
	require.NotZero(t, s.changed)
	r := Request{Count: 4, Lease: 4 * hour}
	e, ok := s.For(r, 0, now)
	require.True(t, ok)
	assert.Equal(t, 40, e.Samples)
	waited := int64(36 * hour)
	e, ok = s.For(r, waited, now)
	require.True(t, ok)
	assert.NotEmpty(t, e.Chances(waited))
}

func TestHoursFollowTheTimeZone(t *testing.T) {
	zone := time.FixedZone("", -8*hour)
	for text, want := range map[string]Hours{
		"2026-11-20T15:59:00Z": Night, "2026-11-20T16:00:00Z": Working, "2026-11-21T01:59:00Z": Working,
		"2026-11-21T02:00:00Z": Night, "2026-11-21T08:00:00Z": Weekend, "2026-11-23T07:59:00Z": Weekend,
	} {
		at, err := time.Parse(time.RFC3339, text)
		require.NoError(t, err)
		assert.Equal(t, want, NewBook(now, zone).hoursOf(history.At(at)), text)
	}
}

func TestEstimateNamesItsHours(t *testing.T) {
	at := history.Time(firstDay + 50*day + 12*hour)
	e, ok := known(simulate(rand.New(rand.NewPCG(3, 4)), dayAndNight), at).For(shapes[0], 0, at)
	require.True(t, ok)
	assert.Contains(t, e.Like, ", weekends")
}

package estimate

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"slurmflex/flex/history"
	"slurmflex/flex/view"
)

// An hour and a day in seconds.
const (
	hour = 3600
	day  = 24 * hour
)

// now is the time of the tests, more than a year after 1970.
const now = history.Time(400 * day)

// past returns that many granted waits for nodes of nodeset a3, which began that many days ago and
// lasted a minute, two minutes, and so on.
func past(waits, nodes int, daysAgo float64) (entries []history.Entry) {
	from := now - history.Time(daysAgo*day)
	for i := range waits {
		entries = append(entries, history.Entry{NodeSet: "a3", Count: nodes, From: from, To: from + history.Time(60*(i+1)), End: history.Granted})
	}
	return entries
}

// bookOf returns the book of a history, as it was read at a time.
func bookOf(at history.Time, entries ...[]history.Entry) *book {
	b := newBook(at.Time())
	for _, all := range entries {
		for _, e := range all {
			b.take(&e)
		}
	}
	return b
}

// longer is the reference. At each second it divides the waits granted then by the waits that had
// lasted until then, in exact fractions.
func longer(waits []wait, seconds int64) *big.Rat {
	part := big.NewRat(1, 1)
	for at := int64(0); at <= seconds; at++ {
		var granted, risk int64
		for _, w := range waits {
			if w.took >= at {
				risk++
			}
			if w.took == at && w.granted {
				granted++
			}
		}
		if risk > 0 {
			part.Mul(part, big.NewRat(risk-granted, risk))
		}
	}
	return part
}

// drawBook returns a book with random waits for one node, and these waits.
func drawBook(r *rapid.T) (*book, []wait) {
	waits := rapid.SliceOfN(rapid.Custom(func(r *rapid.T) wait {
		return wait{took: rapid.Int64Range(0, 40).Draw(r, "took"), granted: rapid.Bool().Draw(r, "granted"), begun: now - 1}
	}), 0, 80).Draw(r, "waits")
	b := newBook(now.Time())
	for _, w := range waits {
		end := history.Withdrawn
		if w.granted {
			end = history.Granted
		}
		b.take(&history.Entry{NodeSet: "a3", Count: 1, From: now - 1, To: now - 1 + history.Time(w.took), End: end})
	}
	return b, waits
}

func TestEstimateIsConditionalOnElapsedWait(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		b, waits := drawBook(r)
		waited := rapid.Int64Range(0, 30).Draw(r, "waited")
		n := int64(0)
		for _, w := range waits {
			if w.took >= waited {
				n++
			}
		}
		e := b.estimate("a3", 1, waited)
		if e == nil {
			return
		}
		require.EqualValues(r, n, e.Requests)
		whole := longer(waits, waited-1)
		crossed := func(percent int64) time.Duration {
			rest := new(big.Rat).Sub(big.NewRat(1, 1), big.NewRat(percent*(n+1), 100*n))
			for more := range int64(41) {
				if new(big.Rat).Quo(longer(waits, waited+more), whole).Cmp(rest) <= 0 {
					return time.Duration(max(more, 1)) * time.Second
				}
			}
			return 0
		}
		require.Equal(r, crossed(50), time.Duration(e.Median))
		require.Equal(r, crossed(90), time.Duration(e.P90))
	})
}

func TestFewWaitsGiveNoEstimate(t *testing.T) {
	given := past(100, 4, 1)
	for i := range given {
		given[i].End = history.Withdrawn
	}
	assert.Nil(t, bookOf(now).estimate("a3", 4, 0))
	assert.Nil(t, bookOf(now, past(9, 4, 1), given).estimate("a3", 4, 0))
	assert.Equal(t, 110, bookOf(now, past(10, 4, 1), given).estimate("a3", 4, 0).Requests)
	assert.NotNil(t, bookOf(now, past(20, 4, 1)).estimate("a3", 4, 11*60))
	assert.Nil(t, bookOf(now, past(20, 4, 1)).estimate("a3", 4, 11*60+1), "nine waited longer")
}

func TestEstimateCountsTheLatestSimilarRequests(t *testing.T) {
	elsewhere := past(30, 4, 1)
	for i := range elsewhere {
		elsewhere[i].NodeSet = "a3-eu"
	}
	for name, c := range map[string]struct {
		of   []history.Entry
		want *view.Estimate
	}{
		"of another size":        {past(40, 5, 1), &view.Estimate{Requests: 40, Oldest: (now - day).Time(), AnySize: true}},
		"of another nodeset":     {elsewhere, nil},
		"few of the size":        {append(past(9, 4, 1), past(11, 1, 2)...), &view.Estimate{Requests: 20, Oldest: (now - 2*day).Time(), AnySize: true}},
		"enough of the size":     {append(past(10, 4, 1), past(11, 1, 2)...), &view.Estimate{Requests: 10, Oldest: (now - day).Time()}},
		"many in 14 days":        {append(past(31, 4, 13.9), past(50, 4, 14.1)...), &view.Estimate{Requests: 31, Oldest: (now - 139*day/10).Time()}},
		"the last 30 are enough": {append(append(past(5, 4, 1), past(25, 4, 300)...), past(50, 4, 301)...), &view.Estimate{Requests: 30, Oldest: (now - 300*day).Time()}},
	} {
		got := bookOf(now, c.of).estimate("a3", 4, 0)
		if got != nil {
			got.Median, got.P90 = 0, 0
		}
		assert.Equal(t, c.want, got, name)
	}
}

// A simulated history has as many days before a change as after it.
const (
	length    = 60
	changeDay = 30
)

// usual returns the median wait before a change, in seconds. The waits are log-normal around it, with
// a sigma of 1.
func usual(nodes int) float64 { return 1200 * math.Sqrt(float64(nodes)) }

// simulate returns a history of requests that wait that many times longer after the change. Their
// owners cancel them after a day on average.
func simulate(random *rand.Rand, change float64) (entries []history.Entry) {
	for at := 0.; at < length*day; at += day / 48 * random.ExpFloat64() {
		nodes, from := 1<<random.IntN(4), now+history.Time(at)
		took, patience := usual(nodes)*math.Exp(random.NormFloat64()), day*random.ExpFloat64()
		if at >= changeDay*day {
			took *= change
		}
		e := history.Entry{NodeSet: "a3", Count: nodes, From: from, To: from + history.Time(min(took, patience)), End: history.Granted}
		if patience < took {
			e.End = history.Withdrawn
		}
		entries = append(entries, e)
	}
	return entries
}

// known returns the book of the waits that a history contains at that time.
func known(entries []history.Entry, at history.Time) *book {
	var so []history.Entry
	for _, e := range entries {
		if e.From < at {
			if e.To > at {
				e.To, e.End = at, ""
			}
			so = append(so, e)
		}
	}
	return bookOf(at, so)
}

// U4: from the fifteenth day after a change, an estimate covers the stated part of the next waits. A
// week after it, most of the way is done.
func TestEstimatesFollowAChangeWithinTwoWeeks(t *testing.T) {
	for _, change := range []float64{1, 4, .25} {
		var median, p90, week, asked float64
		for run := range 10 {
			entries := simulate(rand.New(rand.NewPCG(uint64(run), 4)), change)
			for _, days := range []int{8, 15, 17, 21, 28} {
				b := known(entries, now+history.Time((changeDay+days)*day))
				for nodes := 1; nodes <= 8; nodes *= 2 {
					within := func(s view.Seconds) float64 {
						require.NotZero(t, s)
						return .5 * math.Erfc(-math.Log(time.Duration(s).Seconds()/(usual(nodes)*change))/math.Sqrt2)
					}
					e := b.estimate("a3", nodes, 0)
					require.NotNil(t, e)
					if days == 8 {
						week += within(e.Median) / 40
						continue
					}
					median, p90, asked = median+within(e.Median), p90+within(e.P90), asked+1
				}
			}
		}
		says := fmt.Sprintf("change %g: %.3f within the median, %.3f within the 90th percentile; after a week %.3f", change, median/asked, p90/asked, week)
		assert.InDelta(t, .5, median/asked, .03, says)
		assert.InDelta(t, .9, p90/asked, .03, says)
		assert.InDelta(t, .5, week, .25, says)
	}
}

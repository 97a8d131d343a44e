package estimate

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// exponential returns a place with exponential waits of that mean, in seconds.
func exponential(mean float64) Place {
	return Place{Known: 100 * day, Wait: func(p float64) (int64, bool) { return int64(-mean * math.Log1p(-p)), true }}
}

func run(r Race) []Outcome { return r.Run(rand.New(rand.NewPCG(29, 10)), 200_000) }

// The minimum of n exponential waits is exponential, with one nth of their mean.
func TestRaceOfExponentialWaitsHasTheirLaw(t *testing.T) {
	const mean, boot, poll, deletion = 4 * hour, 240., 30., 60.
	outcomes := run(Race{
		Places: []Place{exponential(mean), exponential(mean), exponential(mean)}, Boot: boot, Poll: poll, Deletion: deletion,
	})
	require.Len(t, outcomes, 3)
	for i, o := range outcomes {
		n := float64(i + 1)
		assert.EqualValues(t, n, o.Places)
		assert.InEpsilon(t, mean/n*math.Ln2, *o.Half, .02, "median of %v", n)
		assert.InEpsilon(t, mean/n*math.Ln10, *o.Ninety, .02, "90th percentile of %v", n)
		assert.InDelta(t, n, o.Requests, 0)

		// Exponential waits are memoryless: after the winner's grant, the rest of each loser's wait
		// follows the same law.
		window := boot + poll
		missed := math.Exp(-window / mean)
		assert.InDelta(t, (n-1)*((window+deletion)*(1-missed)-(mean-missed*(window+mean))), o.Lost, .03*o.Lost+1e-9, "lost of %v", n)
		assert.InEpsilon(t, mean+(n-1)*mean*(1-missed), o.Requested, .02, "requested of %v", n)
	}
}

func TestFasterPlaceWinsMoreOften(t *testing.T) {
	outcomes := run(Race{Places: []Place{exponential(3 * hour), exponential(hour)}})
	assert.InEpsilon(t, 3*hour*math.Ln2, *outcomes[0].Half, .02)
	assert.InEpsilon(t, .75*hour*math.Ln2, *outcomes[1].Half, .02)
	assert.Zero(t, outcomes[1].Lost, "cancelled immediately")
}

func TestFullyCorrelatedPlacesGainNothing(t *testing.T) {
	race := Race{Places: []Place{exponential(hour), exponential(hour)}, Correlation: 1, Boot: 200, Poll: 30, Deletion: 70}
	outcomes := run(race)
	assert.Equal(t, outcomes[0].Half, outcomes[1].Half)
	assert.InDelta(t, 300, outcomes[1].Lost, 0, "the second set of machines is always lost")
	medians := []int64{0, 0, 0}
	for i, correlation := range []float64{0, .5, 1} {
		race.Correlation = correlation
		medians[i] = *run(race)[1].Half
	}
	assert.IsIncreasing(t, medians)
}

// Two normal scores are both above their median with probability 1/4 + asin(correlation)/(2 pi).
func TestCorrelationAppliesToNormalScores(t *testing.T) {
	coin := Place{Known: hour, Wait: func(p float64) (int64, bool) {
		if p <= .5 {
			return 0, true
		}
		return hour, true
	}}
	for _, correlation := range []float64{0, .5, .9} {
		outcomes := run(Race{Places: []Place{coin, coin}, Correlation: correlation})
		assert.InEpsilon(t, .5*hour, outcomes[0].Requested, .02, "one place has the same law whatever the correlation")
		assert.InEpsilon(t, 2*hour*(.25+math.Asin(correlation)/(2*math.Pi)), outcomes[1].Requested, .02, "correlation %v", correlation)
	}
}

func TestPlaceIsRequestedOnlyWhileTheJobWaits(t *testing.T) {
	second := exponential(hour)
	second.After = 2 * hour
	outcomes := run(Race{Places: []Place{exponential(hour), second}, Boot: 120})
	assert.InEpsilon(t, 1+math.Exp(-(2*hour-120.)/hour), outcomes[1].Requests, .01)
	assert.InEpsilon(t, hour*math.Ln2, *outcomes[1].Half, .02)
	assert.Less(t, *outcomes[1].Ninety, *outcomes[0].Ninety)
}

func TestWaitsBeyondTheHistoryStayUnknown(t *testing.T) {
	short := Place{Known: hour, Wait: func(p float64) (int64, bool) { return int64(p / .6 * hour), p <= .6 }}
	outcomes := run(Race{Places: []Place{short, short, short}})
	assert.NotNil(t, outcomes[0].Half)
	assert.Nil(t, outcomes[0].Ninety, "40 in 100 waits are longer than the longest known one")
	assert.NotNil(t, outcomes[2].Ninety, "only 6 in 100 times are all three longer")
	assert.InEpsilon(t, .6*.5*hour+.4*hour, outcomes[0].Requested, .01)
}

func TestRaceIsRepeatable(t *testing.T) {
	race := Race{Places: []Place{exponential(hour), exponential(day)}, Correlation: .3, Boot: 200}
	assert.Equal(t, run(race), run(race))
}

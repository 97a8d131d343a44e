package estimate

import (
	"cmp"
	"math/big"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// longer is the reference. At each second it divides the waits granted then by the waits that had
// lasted until then, in exact fractions.
func longer(samples []Sample, seconds int64) *big.Rat {
	part := big.NewRat(1, 1)
	for at := int64(0); at <= seconds; at++ {
		var granted, risk int64
		for _, s := range samples {
			if s.Took >= at {
				risk++
			}
			if s.Took == at && s.Granted {
				granted++
			}
		}
		if risk > 0 {
			part.Mul(part, big.NewRat(risk-granted, risk))
		}
	}
	return part
}

func drawSamples(r *rapid.T) []Sample {
	return rapid.SliceOfN(rapid.Custom(func(r *rapid.T) Sample {
		return Sample{Took: rapid.Int64Range(0, 40).Draw(r, "took"), Granted: rapid.Bool().Draw(r, "granted")}
	}), 0, 60).Draw(r, "samples")
}

// curveOf returns the curve of samples in any order.
func curveOf(samples []Sample) Curve {
	sorted := slices.Clone(samples)
	inOrder(sorted)
	return KaplanMeier(sorted)
}

func TestCurveMatchesTheReference(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		samples := drawSamples(r)
		c := curveOf(samples)
		for at := range int64(42) {
			want, _ := longer(samples, at).Float64()
			require.InDelta(r, want, c.Longer(at), 1e-12)
		}
	})
}

func TestQuantileIsWhereTheReferenceCrossesIt(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		samples := drawSamples(r)
		percent := rapid.SampledFrom([]int64{10, 50, 90}).Draw(r, "percent")
		got, ok := curveOf(samples).Quantile(float64(percent) / 100)
		n := int64(len(samples))
		for at := int64(0); n > 0 && at <= 40; at++ {
			rest := new(big.Rat).Sub(big.NewRat(1, 1), big.NewRat(percent*(n+1), 100*n))
			if longer(samples, at).Cmp(rest) <= 0 {
				require.True(r, ok)
				require.Equal(r, at, got)
				return
			}
		}
		require.False(r, ok)
	})
}

func TestEstimateIsConditionalOnElapsedWait(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		samples := drawSamples(r)
		waited := rapid.Int64Range(0, 40).Draw(r, "waited")
		whole := longer(samples, waited)
		rest := curveOf(samples).After(waited)
		for more := range int64(42) {
			if whole.Sign() == 0 {
				require.Equal(r, 1.0, rest.Longer(more), "no known wait is so long")
				continue
			}
			want, _ := new(big.Rat).Quo(longer(samples, waited+more), whole).Float64()
			require.InDelta(r, want, rest.Longer(more), 1e-9)
		}
	})
}

func TestCancelledWaitsIncreaseTheWeightOfLongerWaits(t *testing.T) {
	var all, granted []Sample
	for i := range int64(100) {
		s := Sample{Took: i + 1, Granted: i%2 == 0}
		all = append(all, s)
		if s.Granted {
			granted = append(granted, s)
		}
	}
	with, ok := curveOf(all).Quantile(.5)
	require.True(t, ok)
	without, ok := curveOf(granted).Quantile(.5)
	require.True(t, ok)
	assert.Greater(t, with, without)
	assert.True(t, slices.IsSortedFunc(all, func(a, b Sample) int { return cmp.Compare(a.Took, b.Took) }))
}

func TestEightWaitsDoNotDetermineThe90thPercentile(t *testing.T) {
	var samples []Sample
	for i := range int64(8) {
		samples = append(samples, Sample{Took: i, Granted: true})
	}
	_, ok := curveOf(samples).Quantile(.9)
	assert.False(t, ok)
	longest, ok := curveOf(append(samples, Sample{Took: 9, Granted: true})).Quantile(.9)
	assert.True(t, ok)
	assert.EqualValues(t, 9, longest)
}

// Package estimate estimates how long a request for machines may wait, from the waits of similar
// requests. It is pure: no clock, no I/O.
package estimate

import "sort"

// Curve is the Kaplan–Meier estimate of the part of waits that last longer than a time. Source:
// Kaplan and Meier, Nonparametric Estimation from Incomplete Observations, 1958.
type Curve struct {
	samples int
	at      []int64   // seconds at which waits were granted, ascending
	longer  []float64 // the part of all waits that lasts longer than this
	risk    []int     // the number of waits that lasted at least this long
}

// KaplanMeier computes the curve of waits that are sorted by duration. Of equal durations, granted
// waits must be first. A wait that was not granted only shows that it would have lasted longer.
func KaplanMeier(sorted []Sample) Curve {
	c := Curve{samples: len(sorted)}
	part := 1.0
	for i := 0; i < len(sorted); {
		at, risk, granted := sorted[i].Took, len(sorted)-i, 0
		for ; i < len(sorted) && sorted[i].Took == at; i++ {
			if sorted[i].Granted {
				granted++
			}
		}
		if granted == 0 {
			continue
		}
		part *= 1 - float64(granted)/float64(risk)
		c.at, c.longer, c.risk = append(c.at, at), append(c.longer, part), append(c.risk, risk)
	}
	return c
}

// Longer returns the part of all waits that last longer than that many seconds.
func (c Curve) Longer(seconds int64) float64 {
	i := sort.Search(len(c.at), func(i int) bool { return c.at[i] > seconds })
	if i == 0 {
		return 1
	}
	return c.longer[i-1]
}

// Chance returns the probability that the next wait ends within that many seconds; see Quantile. If
// waits were cancelled earlier, it is a lower bound.
func (c Curve) Chance(seconds int64) float64 {
	return (1 - c.Longer(seconds)) * float64(c.samples) / float64(c.samples+1)
}

// rounding is the tolerance for rounding errors in sums of fractions.
const rounding = 1e-9

// Quantile returns the time, in seconds, within which the next wait ends with probability p, from 0
// to 1. Of n waits, the k-th shortest is such a time for k/(n+1), because the next wait is equally
// likely to fall into each of the n+1 gaps between them. It reports false if the waits do not
// determine the time: too few are known, or too many were cancelled earlier.
func (c Curve) Quantile(p float64) (seconds int64, ok bool) {
	rest := 1 - p*float64(c.samples+1)/float64(c.samples)
	i := sort.Search(len(c.longer), func(i int) bool { return c.longer[i] <= rest+rounding })
	if c.samples == 0 || i == len(c.longer) {
		return 0, false
	}
	return c.at[i], true
}

// After returns the curve of the remaining wait after that many seconds.
func (c Curve) After(seconds int64) Curve {
	from := sort.Search(len(c.at), func(i int) bool { return c.at[i] > seconds })
	whole := c.Longer(seconds)
	var rest Curve
	for i := from; i < len(c.at); i++ {
		rest.samples = max(rest.samples, c.risk[i])
		rest.at = append(rest.at, c.at[i]-seconds)
		rest.longer = append(rest.longer, c.longer[i]/whole)
		rest.risk = append(rest.risk, c.risk[i])
	}
	return rest
}

// Known returns the longest time, in seconds, that the curve covers.
func (c Curve) Known() int64 {
	if len(c.at) == 0 {
		return 0
	}
	return c.at[len(c.at)-1]
}

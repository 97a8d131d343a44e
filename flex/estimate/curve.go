// Package estimate says how long a request for machines may wait, by how long
// requests like it have waited. It is pure: no clock, no I/O.
package estimate

import "sort"

// Curve is the Kaplan–Meier estimate of how many waits last longer than a time.
// Source: Kaplan and Meier, Nonparametric Estimation from Incomplete Observations,
// 1958.
type Curve struct {
	samples int
	at      []int64   // seconds at which waits were granted, in their order
	longer  []float64 // after which this part of all waits goes on
	risk    []int     // waits that had lasted until then
}

// KaplanMeier makes the curve of waits that are sorted by how long they took, and
// of those that took the same with the granted first. A wait that was not granted
// says only that it would have taken longer.
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

// Longer is the part of all waits that last longer than that many seconds.
func (c Curve) Longer(seconds int64) float64 {
	i := sort.Search(len(c.at), func(i int) bool { return c.at[i] > seconds })
	if i == 0 {
		return 1
	}
	return c.longer[i-1]
}

// rounding is what sums of fractions may be off by.
const rounding = 1e-9

// Quantile is the time, in seconds, within which a next wait ends with chance p,
// from 0 to 1. Of n waits the k-th shortest is such a time for k/(n+1), for the next
// one falls into each of the n+1 gaps between them alike. It reports false if
// the waits do not say: too few are known, or too many were given up before.
func (c Curve) Quantile(p float64) (seconds int64, ok bool) {
	rest := 1 - p*float64(c.samples+1)/float64(c.samples)
	i := sort.Search(len(c.longer), func(i int) bool { return c.longer[i] <= rest+rounding })
	if c.samples == 0 || i == len(c.longer) {
		return 0, false
	}
	return c.at[i], true
}

// After is the curve of what is left to wait for those that have waited that many
// seconds.
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

// Known is the longest time, in seconds, that the curve says anything about.
func (c Curve) Known() int64 {
	if len(c.at) == 0 {
		return 0
	}
	return c.at[len(c.at)-1]
}

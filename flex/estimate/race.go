package estimate

import (
	"math"
	"math/rand/v2"
	"slices"
)

// Place is a nodeset where a job may request machines.
type Place struct {
	// Wait returns the seconds within which a request gets machines with probability p, from 0 to
	// 1. It reports false beyond the longest known wait.
	Wait  func(p float64) (seconds int64, ok bool)
	Known int64 // the longest known wait, in seconds
	After int64 // seconds from the job's first request to its request here
}

// Race is a job with requests in several places. The job runs in the place where machines are
// created first. All other requests are cancelled once these machines have booted. All durations
// are in seconds.
type Race struct {
	Places      []Place
	Correlation float64 // of the normal scores of two places' waits, 0 to 1
	Boot        int64   // from the creation of machines until the job runs on them
	Poll        int64   // from then until the other requests are cancelled
	Deletion    int64   // from then until the machines of those requests are deleted
}

// Outcome is the result of requests in the first places of a race.
type Outcome struct {
	Places      int     `json:"places"`
	Correlation float64 `json:"correlation"`

	Half      *int64  `json:"half_within_seconds,omitempty"`        // from the first request
	Ninety    *int64  `json:"nine_of_ten_within_seconds,omitempty"` // 90th percentile; absent if unknown
	Lost      float64 `json:"lost_seconds"`                         // mean per machine of the job
	Requests  float64 `json:"requests"`                             // mean number per job
	Requested float64 `json:"request_seconds"`                      // mean total per job
}

// never is longer than any wait.
const never = math.MaxInt64 / 4

// Run draws the waits of that many jobs. It returns the outcome for one place, for the first two,
// and so on, all from the same waits. A wait beyond the longest known one counts as that long in
// Requested. Quantiles that depend on such a wait remain unknown.
func (r Race) Run(random *rand.Rand, jobs int) []Outcome {
	outcomes, waits := make([]Outcome, len(r.Places)), make([][]int64, len(r.Places))
	granted := make([]int64, len(r.Places))
	for range jobs {
		r.draw(random, granted)
		for i := range outcomes {
			first := slices.Min(granted[:i+1])
			waits[i] = append(waits[i], first)
			r.count(&outcomes[i], granted[:i+1], first)
		}
	}
	for i := range outcomes {
		o := &outcomes[i]
		o.Places, o.Correlation = i+1, r.Correlation
		o.Half, o.Ninety = quantileOf(waits[i], .5), quantileOf(waits[i], .9)
		for _, sum := range []*float64{&o.Lost, &o.Requests, &o.Requested} {
			*sum /= float64(jobs)
		}
	}
	return outcomes
}

// draw draws the time at which each place grants machines, in seconds from the first request. A
// normal variable shared by all places makes their waits correlated (a Gaussian copula).
func (r Race) draw(random *rand.Rand, granted []int64) {
	shared, own := math.Sqrt(r.Correlation), math.Sqrt(1-r.Correlation)
	common := random.NormFloat64()
	for i, p := range r.Places {
		score := shared*common + own*random.NormFloat64()
		granted[i] = never
		if wait, ok := p.Wait(.5 * math.Erfc(-score/math.Sqrt2)); ok {
			granted[i] = p.After + wait
		}
	}
}

// count adds a job to the sums of an outcome.
func (r Race) count(o *Outcome, granted []int64, first int64) {
	known := int64(0)
	for _, p := range r.Places[:len(granted)] {
		known = max(known, p.After+p.Known)
	}
	ready := min(first, known) + r.Boot
	cancelled, won := ready+r.Poll, false
	for i, at := range granted {
		asked := r.Places[i].After
		if asked >= ready {
			continue
		}
		o.Requests++
		switch {
		case at == first && !won:
			won = true
			o.Requested += float64(min(at, known) - asked)
		case at < cancelled:
			o.Requested += float64(at - asked)
			o.Lost += float64(cancelled + r.Deletion - at)
		default:
			o.Requested += float64(cancelled - asked)
		}
	}
}

// quantileOf returns a quantile of drawn waits; nil if it is beyond the longest known wait.
func quantileOf(waits []int64, p float64) *int64 {
	slices.Sort(waits)
	seconds := waits[min(int(p*float64(len(waits))), len(waits)-1)]
	if seconds == never {
		return nil
	}
	return &seconds
}

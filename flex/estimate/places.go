package estimate

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"slurmflex/flex/history"
	"slurmflex/flex/view"
)

// Places shows how a job benefits from requests in several places at the same time. Durations are
// in seconds.
type Places struct {
	Simulated []string `json:"simulated"` // nodesets, in the order of the requests
	Missing   []Short  `json:"missing"`   // nodesets without enough history
	Boot      int64    `json:"boot_seconds"`
	Boots     int      `json:"boots"` // number of leases behind this median; 0: assumed
	Poll      int64    `json:"poll_seconds"`
	Deletion  int64    `json:"deletion_seconds"`
	// After is the time from the job's first request to the request in each place. It is absent if
	// all are made at the same time.
	After []int64 `json:"after_seconds,omitempty"`

	Outcomes []Outcome `json:"outcomes"`
}

// Short is a nodeset with too few requests similar to the job's.
type Short struct {
	NodeSet string `json:"nodeset"`
	Granted int    `json:"granted"`
	Needed  int    `json:"needed"`
}

// The assumed values for times that have not been measured, in seconds.
const (
	assumedBoot     = 300
	assumedDeletion = 60
)

// drawnJobs is the number of jobs in a simulation. With it, the chance error of a quantile is below
// 1 % of the jobs.
const drawnJobs = 50_000

// Boots holds the boot times of some nodesets' machines.
type Boots struct {
	NodeSets []string
	seconds  []int64
}

// Take adds a lease of the history if its machine has booted.
func (b *Boots) Take(e *history.Entry) {
	if e.Booting > 0 && e.Used+e.Idle > 0 && slices.Contains(b.NodeSets, e.NodeSet) {
		b.seconds = append(b.seconds, e.Booting)
	}
}

// PlacesOf simulates a job that requests machines in the nodesets of these questions, in this
// order. A nodeset without enough history delays no request. The samples must be those of the
// questions.
func PlacesOf(questions []Question, samples []*Samples, correlations []float64, poll time.Duration, boots Boots, now history.Time) *Places {
	p := &Places{
		Simulated: []string{}, Missing: []Short{}, Outcomes: []Outcome{},
		Boot: assumedBoot, Poll: int64(poll.Seconds()), Deletion: assumedDeletion,
	}
	if len(boots.seconds) >= least {
		p.Boot, p.Boots = *quantileOf(boots.seconds, .5), len(boots.seconds)
	}
	race, after := Race{Boot: p.Boot, Poll: p.Poll, Deletion: p.Deletion}, int64(0)
	for i, q := range questions {
		e, ok := samples[i].For(q.Request, 0, now)
		if !ok {
			p.Missing = append(p.Missing, Short{q.NodeSet, samples[i].granted(q.Request, now), least})
			continue
		}
		race.Places = append(race.Places, Place{Wait: e.Curve.Quantile, Known: e.Curve.Known(), After: after})
		p.Simulated, p.After = append(p.Simulated, q.NodeSet), append(p.After, after)
		after += q.After
	}
	if !slices.ContainsFunc(p.After, func(seconds int64) bool { return seconds > 0 }) {
		p.After = nil
	}
	if len(race.Places) < 2 {
		return p
	}
	for i, correlation := range correlations {
		race.Correlation = correlation // correlation needs two places
		p.Outcomes = append(p.Outcomes, race.Run(rand.New(rand.NewPCG(1, 1)), drawnJobs)[min(i, 1):]...)
	}
	return p
}

// granted returns the number of similar requests that got machines, within the widest reach of any
// estimate.
func (s *Samples) granted(r Request, now history.Time) int {
	return s.of(r, reaches[len(reaches)-1], now, nil).Granted
}

// String returns a table with a line for each number of places, and its assumptions.
func (p *Places) String() string {
	var b strings.Builder
	for _, m := range p.Missing {
		fmt.Fprintf(&b, "nodeset %s: no history: %d of %d requests like this got machines; left out\n", m.NodeSet, m.Granted, m.Needed)
	}
	if len(p.Outcomes) == 0 {
		b.WriteString("fewer than two places have enough history to simulate\n")
		return b.String()
	}
	fmt.Fprintf(&b, "\nplaces, in this order: %s\n\n", strings.Join(p.Simulated, ", "))
	fmt.Fprintf(&b, "  %-8s%-13s%-26s%-11s%-16s%s\n", "places", "correlation", "median / 90th percentile", "requests", "request hours", "lost machine time")
	for _, o := range p.Outcomes {
		correlation := "-"
		if o.Places > 1 {
			correlation = fmt.Sprintf("%.2g", o.Correlation)
		}
		wait := view.Estimate{Half: Seconds(o.Half), Ninety: Seconds(o.Ninety)}.Short()
		fmt.Fprintf(&b, "  %-8d%-13s%-26s%-11.1f%-16.1f%.0f s per node\n", o.Places, correlation, wait, o.Requests, o.Requested/hour, o.Lost)
	}
	boots := "assumed"
	if p.Boots > 0 {
		boots = "the median of " + view.Count(p.Boots, "lease")
	}
	fmt.Fprintf(&b, `
Assumed: waits in different places are independent (correlation 0), or their normal
scores have the given correlation, which the history does not tell. A request waits as
long as if the job had no other. Machines boot in %d s (%s).
Other requests are cancelled within %s. Machines granted by then are deleted in %s
and serve no other job. In request hours, no wait is longer than the longest known one.
`, p.Boot, boots, span(p.Poll), span(p.Deletion))
	var later []string
	for i, seconds := range p.After {
		if seconds > 0 {
			later = append(later, fmt.Sprintf("in %s after %s", p.Simulated[i], span(seconds)))
		}
	}
	if len(later) > 0 {
		fmt.Fprintf(&b, "The job asks %s.\n", strings.Join(later, ", "))
	}
	return b.String()
}

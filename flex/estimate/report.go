package estimate

import (
	"slurmflex/flex/history"
	"slurmflex/flex/view"
)

// Report is what the command shows. Durations are in seconds.
type Report struct {
	view.Envelope
	Cluster   string   `json:"cluster"`
	Estimates []Answer `json:"estimates"`
	Bad       int      `json:"unread_lines"`     // of the history
	Places    *Places  `json:"places,omitempty"` // absent if it was not asked for
}

// Answer is the estimate for one nodeset.
type Answer struct {
	Job       string `json:"job,omitempty"` // that waits, as squeue shows it
	Partition string `json:"partition,omitempty"`
	NodeSet   string `json:"nodeset"`
	Machine   string `json:"machine_type,omitempty"`
	Nodes     int    `json:"nodes"`
	Lease     int64  `json:"lease_seconds"`
	Waited    int64  `json:"waited_seconds,omitempty"` // by the job so far

	History bool         `json:"history"`           // there is enough of it; without it the rest is absent
	Like    string       `json:"like,omitempty"`    // which waits the estimate is from
	Samples int          `json:"samples,omitempty"` // how many, those included that were given up or go on
	Granted int          `json:"granted,omitempty"` // how many of them brought machines
	Oldest  history.Time `json:"oldest,omitzero"`   // when they were begun
	Newest  history.Time `json:"newest,omitzero"`
	Half    *int64       `json:"half_within_seconds,omitempty"`        // from the request on, or for a job that waits from now on
	Ninety  *int64       `json:"nine_of_ten_within_seconds,omitempty"` // likewise; absent if the history does not say
	Change  *Change      `json:"change,omitempty"`                     // of recent waits; absent if they are about as long as before
	Chances []Chance     `json:"chances,omitempty"`                    // of a job that waits

	Advice *Advice `json:"compute_advice,omitempty"` // absent if it was not asked for

	WhatIf []Other `json:"what_if"`
}

// Advice is what Compute's advice.capacity says about the request, if it were made now.
type Advice struct {
	Obtainability *float64 `json:"obtainability,omitempty"` // how likely all nodes are obtained, 0 to 1; absent with an error
	Zones         []string `json:"zones,omitempty"`         // that it recommends
	Error         string   `json:"error,omitempty"`         // why it gave none
}

// Other is another request for the nodeset. Without samples there is no history.
type Other struct {
	Time    int64  `json:"time_seconds,omitempty"` // the job's time limit; absent where leases do not follow it
	Nodes   int    `json:"nodes"`
	Half    *int64 `json:"half_within_seconds,omitempty"`
	Ninety  *int64 `json:"nine_of_ten_within_seconds,omitempty"`
	Samples int    `json:"samples"`
}

// Question is what is asked of the history of a nodeset.
type Question struct {
	NodeSet        string
	Machine        string // empty: the history has the machine type
	Job, Partition string // for the answer
	Request        Request
	Waited         int64   // seconds
	Most           int     // nodes of the nodeset
	After          int64   // seconds from a job's request here until it also asks in its next place
	Times, Leases  []int64 // of the table: time limits, 0 for any, and the leases that they need, in seconds
}

// Answer answers the question by the samples.
func (s *Samples) Answer(q Question, now history.Time) Answer {
	a := Answer{
		Job: q.Job, Partition: q.Partition, NodeSet: s.NodeSet, Machine: s.Machine,
		Nodes: q.Request.Count, Lease: q.Request.Lease, Waited: q.Waited, WhatIf: []Other{},
	}
	if e, ok := s.For(q.Request, q.Waited, now); ok {
		a.take(e)
	}
	for i, row := range s.WhatIf(q.Request, q.Leases, q.Most, now) {
		for _, cell := range row {
			other := Other{Time: q.Times[i], Nodes: cell.Request.Count}
			if e := cell.Estimate; e != nil {
				other.Half, other.Ninety, other.Samples = quantile(e.Curve, .5), quantile(e.Curve, .9), e.Samples
			}
			a.WhatIf = append(a.WhatIf, other)
		}
	}
	a.isotonic()
	return a
}

// take takes over an estimate. For a job that has waited it speaks of the rest, as
// far as enough others have waited so long.
func (a *Answer) take(e Estimate) {
	curve := e.Curve
	if a.Waited > 0 {
		if a.Chances = e.Chances(a.Waited); a.Chances == nil {
			return
		}
		curve = curve.After(a.Waited)
	}
	a.History, a.Like, a.Samples, a.Granted, a.Oldest, a.Newest = true, e.Like, e.Samples, e.Granted, e.Oldest, e.Newest
	a.Half, a.Ninety, a.Change = quantile(curve, .5), quantile(curve, .9), e.Change
}

// quantile is one of a curve; nil if the waits do not say.
func quantile(c Curve, p float64) *int64 {
	if seconds, ok := c.Quantile(p); ok {
		return &seconds
	}
	return nil
}

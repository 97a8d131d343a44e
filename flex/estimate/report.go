package estimate

import (
	"slurmflex/flex/history"
	"slurmflex/flex/view"
)

// Report is the output of the command. Durations are in seconds.
type Report struct {
	view.Envelope
	Cluster   string   `json:"cluster"`
	Estimates []Answer `json:"estimates"`
	Bad       int      `json:"unread_lines"`     // of the history
	Places    *Places  `json:"places,omitempty"` // absent if not requested
	Best      []Shape  `json:"best,omitzero"`    // the soonest first; nil if not requested
}

// Answer is the estimate for one nodeset.
type Answer struct {
	Job       string `json:"job,omitempty"` // the waiting job, as squeue shows it
	Partition string `json:"partition,omitempty"`
	NodeSet   string `json:"nodeset"`
	Machine   string `json:"machine_type,omitempty"`
	Nodes     int    `json:"nodes"`
	Lease     int64  `json:"lease_seconds"`
	Waited    int64  `json:"waited_seconds,omitempty"` // since the machines were requested

	History bool         `json:"history"`           // false: too little history; the rest is absent
	Like    string       `json:"like,omitempty"`    // describes the waits behind the estimate
	Samples int          `json:"samples,omitempty"` // waits, also cancelled and ongoing ones
	Granted int          `json:"granted,omitempty"` // waits that brought machines
	Oldest  history.Time `json:"oldest,omitzero"`   // start times of the waits
	Newest  history.Time `json:"newest,omitzero"`
	// Half and Ninety count from the request; for a waiting job, from now. Ninety is absent if the
	// history lacks it.
	Half    *int64   `json:"half_within_seconds,omitempty"`
	Ninety  *int64   `json:"nine_of_ten_within_seconds,omitempty"`
	Change  *Change  `json:"change,omitempty"`  // absent if recent waits are about as long as before
	Chances []Chance `json:"chances,omitempty"` // of a waiting job

	WhatIf []Other `json:"what_if"`

	own    Other // the job's own request, if it has waited
	shared bool  // by other jobs
}

// Other is another request for the nodeset. Zero samples mean that the history lacks similar waits.
type Other struct {
	Time    int64    `json:"time_seconds,omitempty"` // the job's limit; absent if leases do not follow it
	Nodes   int      `json:"nodes"`
	Half    *int64   `json:"half_within_seconds,omitempty"`
	Ninety  *int64   `json:"nine_of_ten_within_seconds,omitempty"`
	Chances []Chance `json:"chances,omitempty"` // within whatIfHours
	Samples int      `json:"samples"`

	curve Curve
}

// waits sets how long a request waits that follows this curve.
func (o *Other) waits(c Curve, samples int) {
	o.curve, o.Half, o.Ninety, o.Samples = c, quantile(c, .5), quantile(c, .9), samples
	for _, hours := range whatIfHours {
		o.Chances = append(o.Chances, Chance{hours, c.Chance(int64(hours) * hour)})
	}
}

// Question asks about a request for a nodeset.
type Question struct {
	NodeSet        string
	Machine        string // empty: the machine type in the history
	Job, Partition string // for the answer
	Request        Request
	Together       int   // machines that arrive together with the job's; 0: as many as in Request
	Waited         int64 // seconds since they were requested
	After          int64 // seconds from the request here to that in the next place
	// Times are the time limits of the table, in ascending order, 0 for any. Leases are the leases
	// that they need, in seconds. Counts are its numbers of nodes.
	Times, Leases []int64
	Counts        []int
}

// Answer answers the question from the samples.
func (s *Samples) Answer(q Question, now history.Time) Answer {
	own := Request{max(q.Request.Count, q.Together), q.Request.Lease}
	a := Answer{
		Job: q.Job, Partition: q.Partition, NodeSet: s.NodeSet, Machine: s.Machine,
		Nodes: own.Count, Lease: own.Lease, Waited: q.Waited, WhatIf: []Other{}, shared: own != q.Request,
	}
	if e, ok := s.For(own, q.Waited, now); ok {
		a.take(e)
	}
	for i, row := range s.WhatIf(q.Counts, q.Leases, now) {
		for _, cell := range row {
			other := Other{Time: q.Times[i], Nodes: cell.Request.Count}
			if e := cell.Estimate; e != nil {
				other.waits(e.Curve, e.Samples)
			}
			a.WhatIf = append(a.WhatIf, other)
		}
	}
	a.isotonic()
	return a
}

// take copies an estimate into the answer. For a job that has already waited, it covers the
// remaining wait, provided that enough known waits are so long.
func (a *Answer) take(e Estimate) {
	curve := e.Curve
	if a.Waited > 0 {
		if a.Chances = e.Chances(a.Waited); a.Chances == nil {
			return
		}
		curve = curve.After(a.Waited)
	}
	a.History, a.Like, a.Samples, a.Granted, a.Oldest, a.Newest = true, e.Like, e.Samples, e.Granted, e.Oldest, e.Newest
	a.own.waits(curve, curve.samples)
	a.Half, a.Ninety, a.Change = a.own.Half, a.own.Ninety, e.Change
}

// quantile returns a quantile of a curve; nil if the waits do not determine it.
func quantile(c Curve, p float64) *int64 {
	if seconds, ok := c.Quantile(p); ok {
		return &seconds
	}
	return nil
}

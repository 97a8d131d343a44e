package view

import (
	"fmt"
	"time"
)

// Estimate is how much longer nodes may wait, according to the latest requests like theirs on this
// cluster.
type Estimate struct {
	Median   Seconds   `json:"median_seconds,omitempty"` // of the wait; absent if fewer than half of the requests are known to have got machines
	P90      Seconds   `json:"p90_seconds,omitempty"`    // the 90th percentile; absent if too few requests are known
	Requests int       `json:"requests"`                 // number of past requests behind the estimate
	AnySize  bool      `json:"any_size,omitempty"`       // they are for any number of nodes, because too few similar ones are known
	Oldest   time.Time `json:"oldest"`                   // when the first of them was made
}

// short returns the estimate for a table cell: the median and the 90th percentile. A question
// mark replaces a value that the history lacks. It is empty without an estimate.
func (e *Estimate) short() string {
	if e == nil {
		return ""
	}
	return spanOr(e.Median, "?") + " / " + spanOr(e.P90, "?")
}

// String returns the estimate and what it is based on.
func (e Estimate) String() string {
	like := Count(e.Requests, "request") + " like this one"
	if e.AnySize {
		like = Count(e.Requests, "request") + " of any size"
	}
	return fmt.Sprintf("median %s, 90th percentile %s, from %s since %s",
		spanOr(e.Median, "unknown"), spanOr(e.P90, "unknown"), like, e.Oldest.Local().Format(time.DateOnly))
}

// spanOr returns a span of time, or the other text if it is 0.
func spanOr(s Seconds, unknown string) string {
	if s == 0 {
		return unknown
	}
	return Span(time.Duration(s))
}

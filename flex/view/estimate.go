package view

import (
	"fmt"
	"strings"
	"time"
)

// Estimate is how much longer nodes may wait, according to the waits of similar requests on this
// cluster.
type Estimate struct {
	// Half is the median; absent if the history lacks it.
	Half Seconds `json:"half_within_seconds,omitempty"`
	// Ninety is the 90th percentile; absent if the history lacks it.
	Ninety Seconds `json:"nine_of_ten_within_seconds,omitempty"`
	// Requests is the number of requests behind the estimate.
	Requests int `json:"requests"`
	// Change compares recent waits with earlier ones; absent if they are about equal.
	Change *Change `json:"change,omitempty"`
}

// Short returns the estimate for a table cell: the median and the 90th percentile. A question
// mark replaces a value that the history lacks.
func (e Estimate) Short() string {
	half, ninety := "?", "?"
	if e.Half != 0 {
		half = Span(time.Duration(e.Half))
	}
	if e.Ninety != 0 {
		ninety = Span(time.Duration(e.Ninety))
	}
	return half + " / " + ninety
}

// String formats the estimate as a sentence.
func (e Estimate) String() string {
	like := Count(e.Requests, "request") + " like this one"
	says := fmt.Sprintf("The median wait of %s is another %s", like, Span(time.Duration(e.Half)))
	switch {
	case e.Half == 0:
		says = "Fewer than half of " + like + " are known to have got machines"
	case e.Ninety != 0:
		says += ", the 90th percentile " + Span(time.Duration(e.Ninety))
	}
	if e.Change != nil {
		says += "; " + e.Change.String()
	}
	return says
}

// Change compares the waits of the last days with earlier waits.
type Change struct {
	Days int `json:"days"`
	// Slower is the median since the change, divided by the median before; below 1: faster.
	Slower float64 `json:"times_slower"`
}

// String describes the change.
func (c Change) String() string {
	factor, how := c.Slower, "slower"
	if factor < 1 {
		factor, how = 1/factor, "faster"
	}
	times := strings.TrimSuffix(fmt.Sprintf("%.1f", factor), ".0")
	if factor >= 10 {
		times = fmt.Sprintf("%.0f", factor)
	}
	when := fmt.Sprintf("the last %d days were", c.Days)
	switch c.Days {
	case 1:
		when = "the last day was"
	case 7:
		when = "the last week was"
	}
	return fmt.Sprintf("%s %s times %s than before", when, times, how)
}

package view

import (
	"fmt"
	"time"
)

// Estimate is how much longer nodes may wait, by how long requests like theirs have
// waited on this cluster.
type Estimate struct {
	Half     Seconds `json:"half_within_seconds,omitempty"`        // absent if the history does not say
	Ninety   Seconds `json:"nine_of_ten_within_seconds,omitempty"` // likewise
	Requests int     `json:"requests"`                             // that it is from
}

// Short is the estimate in a cell of a table: the time within which half get machines,
// and that for nine of ten. A question mark stands for what the history does not say.
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

// String says the estimate in a sentence.
func (e Estimate) String() string {
	from := fmt.Sprintf("by %s like this one", Count(e.Requests, "request"))
	switch {
	case e.Half == 0:
		return "Fewer than half of such requests get machines, " + from
	case e.Ninety == 0:
		return fmt.Sprintf("Half of such requests get machines within another %s, %s", Span(time.Duration(e.Half)), from)
	}
	return fmt.Sprintf("Half of such requests get machines within another %s, nine of ten within %s, %s", Span(time.Duration(e.Half)), Span(time.Duration(e.Ninety)), from)
}

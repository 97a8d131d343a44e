package mig

import (
	"slices"
	"time"
)

// RequestState is the state of a resize request in the API's own words. A word
// that we do not know is kept as it came; see Live.
type RequestState string

// The states of API v1. No transition leaves Succeeded, Failed or Cancelled.
const (
	Creating  RequestState = "CREATING"
	Accepted  RequestState = "ACCEPTED"
	Succeeded RequestState = "SUCCEEDED"
	Failed    RequestState = "FAILED"
	Cancelled RequestState = "CANCELLED"
)

// Live reports whether the request may still bring instances. A state that we
// do not know counts as live: what is not understood is not gone.
func (s RequestState) Live() bool {
	return s != Succeeded && s != Failed && s != Cancelled
}

// Request is a resize request: all its instances at once, or none.
type Request struct {
	Name      string // unique only within its group
	State     RequestState
	Instances []string // the names it asked for; empty if it was made with a count only
	Count     int      // how many it asked for, if it was made with a count only
	Duration  time.Duration
	Created   time.Time

	// Cause, Message and Quota say why a Failed request failed, or why the last
	// attempt for a live one did not find capacity (which is not final). They
	// are empty if nothing went wrong.
	Cause   Cause
	Message string
	Quota   UsedUp
}

// Trouble is why the request failed, or why its last attempt did not find capacity; zero if
// nothing went wrong.
func (r Request) Trouble() Trouble { return Trouble{r.Cause, r.Message, r.Quota} }

// Names reports whether the request asked for the instance of that name.
func (r Request) Names(instance string) bool { return slices.Contains(r.Instances, instance) }

// Size is how many instances the request asks for.
func (r Request) Size() int { return max(len(r.Instances), r.Count) }

// RequestSpec says what a new resize request must be.
type RequestSpec struct {
	Name      string
	Instances []string      // 1 to MaxInstances names
	Duration  time.Duration // MinDuration to MaxDuration, whole seconds
}

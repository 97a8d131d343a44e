package mig

import (
	"slices"
	"time"
)

// RequestState is the state of a resize request in the API's own words. Unknown words are kept
// unchanged; see Live.
type RequestState string

// The states of API v1. Succeeded, Failed and Cancelled are final.
const (
	Creating  RequestState = "CREATING"
	Accepted  RequestState = "ACCEPTED"
	Succeeded RequestState = "SUCCEEDED"
	Failed    RequestState = "FAILED"
	Cancelled RequestState = "CANCELLED"
)

// Live reports whether the request may still create instances. An unknown state counts as live,
// because it may not be final.
func (s RequestState) Live() bool {
	return s != Succeeded && s != Failed && s != Cancelled
}

// Request is a resize request: Compute creates all its instances together, or none.
type Request struct {
	Name      string // unique only within its group
	State     RequestState
	Instances []string // the requested names; empty if the request has only a count
	Count     int      // the requested number, if the request has only a count
	Duration  time.Duration
	Created   time.Time

	// Why a Failed request failed, or why the last attempt for a live request found no capacity (which
	// is not final); zero if no error is on record.
	Trouble
}

// Names reports whether the request names the instance.
func (r Request) Names(instance string) bool { return slices.Contains(r.Instances, instance) }

// Size returns the number of requested instances.
func (r Request) Size() int { return max(len(r.Instances), r.Count) }

// RequestSpec describes a new resize request.
type RequestSpec struct {
	Name      string
	Instances []string      // 1 to MaxInstances names
	Duration  time.Duration // MinDuration to MaxDuration, whole seconds
}

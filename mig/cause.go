package mig

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Cause classifies why the cloud rejected or failed a request. It is the word for the cause in texts, in
// metrics and in JSON. Only mig/gce maps the API's codes to causes.
type Cause string

// The causes.
const (
	CauseNone        Cause = ""
	CauseCapacity    Cause = "capacity"      // no machines now
	CauseQuota       Cause = "quota"         // a quota of the project is used up
	CauseRate        Cause = "rate"          // too many calls
	CauseConfig      Cause = "configuration" // the request can never succeed unchanged
	CausePermission  Cause = "permission"    // our account lacks the permission, or a policy forbids the call
	CauseCredentials Cause = "credentials"   // the access token was rejected, or the credentials for a new one
	CauseNotFound    Cause = "not found"     // the named object does not exist (weak accounts get CausePermission)
	CauseExists      Cause = "exists"        // an object of that name already exists
	CauseConflict    Cause = "conflict"      // the object is busy or in a state that forbids the call
	CauseUnavailable Cause = "unavailable"   // the API did not answer or answered 5xx: the outcome is unknown
	CauseUnknown     Cause = "unknown"       // this program does not know the code
)

// Causes returns all causes of failures.
func Causes() []Cause { return slices.Sorted(maps.Keys(causes)) }

// Sequel is what follows for a job when its machines could not be requested.
type Sequel uint8

// The sequels, from the mildest.
const (
	Repeats  Sequel = iota // the next pass calls again: the call was badly timed
	BacksOff               // a failed attempt: the next call waits for a minute, doubling to 30
	Holds                  // the job is held, because only an admin can help
)

// causes holds what follows from each cause. Compute's own table of codes is in mig/gce.
var causes = map[Cause]Sequel{
	CauseCapacity:    BacksOff,
	CauseQuota:       BacksOff,
	CauseRate:        Repeats,
	CauseConfig:      Holds,
	CausePermission:  Holds,
	CauseCredentials: BacksOff,
	CauseNotFound:    Repeats, // an admin deleted the group: the next pass creates it
	CauseExists:      BacksOff,
	CauseConflict:    Repeats,
	CauseUnavailable: Repeats,
	CauseUnknown:     BacksOff,
}

// Then returns what follows for a job when the request for its machines failed for this cause.
func (c Cause) Then() Sequel { return causes[c] }

// NeedsAdmin reports whether a call that failed for this cause can only succeed after an admin's
// change.
func (c Cause) NeedsAdmin() bool { return c.Then() == Holds || c == CauseNotFound }

// Trouble explains why a call or a resize request created no machines.
type Trouble struct {
	Cause   Cause
	Message string // Google's error message, in one line
	Quota   UsedUp // with CauseQuota: the quota, if Google named it
}

// UsedUp is a quota that leaves no room for a request.
type UsedUp struct {
	Metric string  `json:"quota"`            // the API's name, such as PREEMPTIBLE_NVIDIA_H100_GPUS
	Limit  float64 `json:"limit,omitzero"`   // 0: unknown
	Region string  `json:"region,omitempty"` // empty: unknown
}

// brief returns the quota's name, its limit and its region, as far as they are known.
func (q UsedUp) brief() string {
	if q.Metric == "" {
		return "a quota of the project is used up"
	}
	text := "quota " + q.Metric + " is used up"
	switch limit := strconv.FormatFloat(q.Limit, 'f', -1, 64); {
	case q.Limit > 0 && q.Region != "":
		text += fmt.Sprintf(" (limit %s in %s)", limit, q.Region)
	case q.Limit > 0:
		text += fmt.Sprintf(" (limit %s)", limit)
	}
	return text
}

// briefSize is the maximum number of characters of Google's error message in Brief.
const briefSize = 120

// Brief returns the trouble in a few words for job owners. The text does not change between
// attempts, because it leaves out the operation names, ports and locations of Google's messages. It
// quotes Google only where an admin must change something.
func (t Trouble) Brief() string {
	switch t.Cause {
	case CauseCapacity:
		return "no capacity"
	case CauseQuota:
		return t.Quota.brief()
	case CauseRate:
		return "rate limit"
	case CauseCredentials:
		return "Google rejected slurmflex's credentials"
	case CauseUnavailable:
		return "Compute is unavailable"
	}
	text := []rune(strings.TrimSuffix(strings.TrimSpace(t.Message), "."))
	if len(text) > briefSize {
		return strings.TrimRight(string(text[:briefSize-1]), " ") + "…"
	}
	return string(text)
}

// Error is a failed call to the cloud. Its text is one line that names the operation and the
// object.
type Error struct {
	Op     string // the operation, such as "create resize request"
	Object string // its object, such as "alpha-a3-job-812/a1"
	Trouble
	Err error // what the message is about; may be nil

	// Ended means that the call's operation ended with this error: nothing more of it happens, and
	// Compute answers a call with the same requestId with the same operation.
	Ended bool

	// Owner is the stamp of the existing group if the cause is CauseExists and the group has one.
	Owner Stamp
}

func (e *Error) Error() string { return e.Op + " " + e.Object + ": " + e.Message }

func (e *Error) Unwrap() error { return e.Err }

// CauseOf returns the cause of an error from the cloud, CauseNone for nil, and CauseUnknown for any
// other error.
func CauseOf(err error) Cause { return FailedCall(err).Cause }

// IsUnknown reports whether the call may still take effect in spite of the error.
func IsUnknown(err error) bool {
	call := FailedCall(err)
	return call.Cause == CauseUnavailable && !call.Ended
}

// FailedCall returns the failed call. For an error that is not from the cloud it has CauseUnknown, and for nil
// CauseNone.
func FailedCall(err error) Error {
	var e *Error
	switch {
	case err == nil:
		return Error{}
	case errors.As(err, &e):
		return *e
	}
	return Error{Trouble: Trouble{Cause: CauseUnknown, Message: err.Error()}, Err: err}
}

// InGooglesWords formats Google's message as the end of a problem. The admin may need it in full.
func (t Trouble) InGooglesWords() string {
	if t.Message == "" {
		return ""
	}
	return "; Google's message: " + strings.TrimSuffix(t.Message, ".")
}

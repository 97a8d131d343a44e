package mig

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Cause says why the cloud did not do what was asked, in the classes that
// decide what happens next. mig/gce maps the API's codes to it in one place.
type Cause uint8

// The causes, with what each means for what happens next.
const (
	CauseNone        Cause = iota
	CauseCapacity          // no machines now: ask again later
	CauseQuota             // a quota of the project is used up: ask again later, and say so
	CauseRate              // too many calls: slow down
	CauseConfig            // the request can never succeed as it is: an admin must change something
	CausePermission        // our credentials may not do this: an admin must change something
	CauseNotFound          // what the call names does not exist (with weak rights this shows as CausePermission)
	CauseExists            // a thing of that name is there already
	CauseConflict          // the thing is busy or in a state that forbids the call: look again
	CauseUnavailable       // the API did not answer, or answered 5xx: the outcome is unknown
	CauseUnknown           // a code that this program does not know
)

var causeNames = [...]string{
	CauseNone: "none", CauseCapacity: "capacity", CauseQuota: "quota", CauseRate: "rate",
	CauseConfig: "configuration", CausePermission: "permission", CauseNotFound: "not found",
	CauseExists: "exists", CauseConflict: "conflict", CauseUnavailable: "unavailable", CauseUnknown: "unknown",
}

func (c Cause) String() string {
	if int(c) < len(causeNames) {
		return causeNames[c]
	}
	return causeNames[CauseUnknown]
}

// Trouble is why a call or a resize request has brought no machines.
type Trouble struct {
	Cause   Cause
	Message string // Google's error message, in one line
	Quota   UsedUp // with CauseQuota: which one, if Google named it
}

// UsedUp is a quota that leaves no room for a request.
type UsedUp struct {
	Metric string  // the API's word, such as PREEMPTIBLE_NVIDIA_H100_GPUS
	Limit  float64 // 0: unknown
	Region string  // empty: unknown
}

// String names the quota, its limit and its region, as far as they are known.
func (q UsedUp) String() string {
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

// briefSize is the most characters of Google's error message that Brief keeps.
const briefSize = 120

// Brief is the trouble in a few words, for owners of jobs. It stays the same from one attempt to
// the next: Google's messages contain operation names, ports and places that change. Only where
// somebody must change something does it quote Google.
func (t Trouble) Brief() string {
	switch t.Cause {
	case CauseCapacity:
		return "no capacity"
	case CauseQuota:
		return t.Quota.String()
	case CauseRate:
		return "rate limit"
	case CauseUnavailable:
		return "Compute is unavailable"
	}
	text := []rune(strings.TrimSuffix(strings.TrimSpace(t.Message), "."))
	if len(text) > briefSize {
		return strings.TrimRight(string(text[:briefSize-1]), " ") + "…"
	}
	return string(text)
}

// Error is a call to the cloud that failed. Its text is one line that names
// the operation and the object.
type Error struct {
	Op     string // what was tried, such as "create resize request"
	Object string // on what, such as "alpha-a3-job-812/a1"
	Cause  Cause
	Quota  UsedUp // with CauseQuota: which one, if Google named it
	Err    error

	// Owner is the cluster whose stamp is on the thing of that name, where the
	// cause is CauseExists and a stamp says it.
	Owner string
}

func (e *Error) Error() string { return e.Op + " " + e.Object + ": " + e.Err.Error() }

func (e *Error) Unwrap() error { return e.Err }

// CauseOf is the cause of an error that came from the cloud, CauseNone for nil
// and CauseUnknown for any other error.
func CauseOf(err error) Cause {
	if err == nil {
		return CauseNone
	}
	var e *Error
	if errors.As(err, &e) {
		return e.Cause
	}
	return CauseUnknown
}

// TroubleOf returns what an error says, without the operation and object that its reader knows
// already.
func TroubleOf(err error) Trouble {
	if err == nil {
		return Trouble{}
	}
	var e *Error
	if errors.As(err, &e) {
		return Trouble{e.Cause, e.Err.Error(), e.Quota}
	}
	return Trouble{Cause: CauseUnknown, Message: err.Error()}
}

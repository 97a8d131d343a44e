package mig

import "errors"

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

// Error is a call to the cloud that failed. Its text is one line that names
// the operation and the object.
type Error struct {
	Op     string // what was tried, such as "create resize request"
	Object string // on what, such as "alpha-a3-job-812/a1"
	Cause  Cause
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

package gce

import (
	"net/http"
	"slices"
	"strings"

	"slurmflex/mig"
)

// intent is what a call that failed was meant to do. The same code means
// another thing to someone who makes a thing than to someone who ends it.
type intent uint8

const (
	reading  intent = iota
	creating        // also: what became of a resize request after it was made
	ending          // cancel and delete
)

// fault is one thing that the API says went wrong.
type fault struct {
	status  int    // HTTP status; 0 if there was none, as in a resize request's record
	code    string // an operation's or a record's code, or an answer's reason
	message string
	details []string   // what else helps the reader, such as a quota's limit
	quota   mig.UsedUp // as the details have it; zero: they have none
}

// cause classifies the fault by the first rule that fits.
func (f fault) cause(want intent) mig.Cause {
	for _, r := range rules {
		if r.fits(f, want) {
			return r.cause
		}
	}
	return mig.CauseUnknown
}

// causeOf is the cause of several faults of one event. They are in the order
// of time, so the last that is known decides; but a quota stays before a lack
// of capacity, because somebody can do something about it.
func causeOf(faults []fault, want intent) mig.Cause {
	cause := mig.CauseUnknown
	for _, f := range faults {
		switch c := f.cause(want); {
		case c == mig.CauseUnknown:
		case c == mig.CauseCapacity && cause == mig.CauseQuota:
		default:
			cause = c
		}
	}
	return cause
}

// rule gives the cause of the faults that fit all its conditions. Fields left
// empty are no condition.
type rule struct {
	codes  []string
	status int
	says   string // a part of the message
	wants  []intent
	cause  mig.Cause
}

func (r rule) fits(f fault, want intent) bool {
	return (r.codes == nil || slices.Contains(r.codes, f.code)) &&
		(r.status == 0 || r.status == f.status) &&
		strings.Contains(f.message, r.says) &&
		(r.wants == nil || slices.Contains(r.wants, want))
}

// rules are all that this program knows of Compute's codes. Codes in capitals
// stand in operations and in resize requests, the others are the reasons of
// HTTP answers. A status decides only where no code does.
var rules = []rule{
	{codes: []string{
		"ZONE_RESOURCE_POOL_EXHAUSTED", "ZONE_RESOURCE_POOL_EXHAUSTED_WITH_DETAILS",
		"RESOURCE_POOL_EXHAUSTED", "RESOURCE_POOL_EXHAUSTED_WITH_DETAILS", "QUEUING_INFEASIBLE_NO_CAPACITY",
		"insufficientCapacity",
	}, cause: mig.CauseCapacity},

	// The sum of a bulk insert's faults, which says nothing of why, whatever
	// the status beside it.
	{codes: []string{"VM_MIN_COUNT_NOT_REACHED"}, cause: mig.CauseUnknown},

	// Two limits share this code: the time that Compute gives a request, and
	// the size of a group, which no waiting changes.
	{codes: []string{"LIMIT_EXCEEDED"}, says: "MAX_INSTANCES_IN_INSTANCE_GROUP", cause: mig.CauseConfig},
	{codes: []string{"LIMIT_EXCEEDED"}, cause: mig.CauseCapacity},

	// Addresses come back when other instances go, as quota does.
	{codes: []string{
		"QUOTA_EXCEEDED", "quotaExceeded", "IP_SPACE_EXHAUSTED", "IP_SPACE_EXHAUSTED_WITH_DETAILS",
	}, cause: mig.CauseQuota},

	{codes: []string{
		"rateLimitExceeded", "userRateLimitExceeded", "dailyLimitExceeded", "RATE_LIMIT_EXCEEDED",
		"CONCURRENT_OPERATIONS_QUOTA_EXCEEDED", "RESOURCE_OPERATION_RATE_EXCEEDED",
	}, cause: mig.CauseRate},

	{codes: []string{
		"PERMISSION_DENIED", "PERMISSIONS_ERROR", "SERVICE_ACCOUNT_ACCESS_DENIED",
		"forbidden", "accessNotConfigured", "insufficientPermissions", "authError",
	}, cause: mig.CausePermission},

	// A reservation that is full: what consumes it may go.
	{
		codes: []string{"CONDITION_NOT_MET", "conditionNotMet"}, says: "does not have available resources",
		wants: []intent{creating}, cause: mig.CauseCapacity,
	},

	// Who creates meets an organization's policy, who ends meets a state.
	{codes: []string{"CONDITION_NOT_MET", "conditionNotMet"}, wants: []intent{creating}, cause: mig.CauseConfig},
	{codes: []string{"CONDITION_NOT_MET", "conditionNotMet"}, cause: mig.CauseConflict},

	{codes: []string{
		"INVALID_ARGUMENT", "INVALID_MACHINE_TYPE", "INVALID_GPU_TYPE", "UNSUPPORTED_OPERATION",
		"AGGREGATE_RESERVATION_NOT_EXIST", "INVALID_FIELD_VALUE", "INVALID_USAGE",
	}, cause: mig.CauseConfig},

	{codes: []string{
		"resourceInUseByAnotherResource", "RESOURCE_IN_USE_BY_ANOTHER_RESOURCE",
		"resourceNotReady", "RESOURCE_NOT_READY",
	}, cause: mig.CauseConflict},

	// The name of an instance is taken while an older one is being deleted:
	// that says nothing about the group or request that was to be made.
	{codes: alreadyExists, says: "/instances/", cause: mig.CauseConflict},
	{codes: alreadyExists, cause: mig.CauseExists},

	// A creation that misses something else than its group misses a part of
	// the configuration, such as the template.
	{codes: notFound, wants: []intent{creating}, says: "/instanceGroupManagers/", cause: mig.CauseNotFound},
	// A workload policy is ours to make, so one that is missing has been
	// collected too early, or is not there yet.
	{codes: notFound, wants: []intent{creating}, says: "/resourcePolicies/", cause: mig.CauseConflict},
	{codes: notFound, wants: []intent{creating}, cause: mig.CauseConfig},
	{codes: notFound, cause: mig.CauseNotFound},

	{codes: []string{"INTERNAL_ERROR", "backendError", "internalError"}, cause: mig.CauseUnavailable},

	// An answer without Google's body of errors is some other machine's: it
	// says nothing about what the call names.
	{codes: []string{notGoogles}, cause: mig.CauseUnavailable},

	{status: http.StatusBadRequest, cause: mig.CauseConfig},
	{status: http.StatusUnauthorized, cause: mig.CausePermission},
	{status: http.StatusForbidden, cause: mig.CausePermission},
	{status: http.StatusRequestTimeout, cause: mig.CauseUnavailable},
	{status: http.StatusConflict, cause: mig.CauseConflict},
	{status: http.StatusPreconditionFailed, wants: []intent{creating}, cause: mig.CauseConfig},
	{status: http.StatusPreconditionFailed, cause: mig.CauseConflict},
	{status: http.StatusTooManyRequests, cause: mig.CauseRate},
	{status: http.StatusInternalServerError, cause: mig.CauseUnavailable},
	{status: http.StatusBadGateway, cause: mig.CauseUnavailable},
	{status: http.StatusServiceUnavailable, cause: mig.CauseUnavailable},
	{status: http.StatusGatewayTimeout, cause: mig.CauseUnavailable},
}

var (
	notFound      = []string{"notFound", "RESOURCE_NOT_FOUND"}
	alreadyExists = []string{"alreadyExists", "RESOURCE_ALREADY_EXISTS"}
)

// notGoogles stands for the code that an answer in other words does not have.
const notGoogles = "not Google's answer"

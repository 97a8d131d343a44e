package gce

import (
	"net/http"
	"slices"
	"strings"

	"slurmflex/mig"
)

// intent is the purpose of a failed call. One code can have different causes when an object is
// created and when it is deleted.
type intent uint8

const (
	reading  intent = iota
	creating        // also for the outcome of a resize request after its creation
	ending          // cancel and delete
)

// fault is one error that the API reported.
type fault struct {
	status  int    // HTTP status; 0 if there was none, as in a resize request's record
	code    string // an operation's or a record's code, or an HTTP answer's reason
	message string
	details []string   // further details for the reader, such as a quota's limit
	quota   mig.UsedUp // the quota in the details; zero: none
}

// cause returns the cause of the first matching rule.
func (f fault) cause(want intent) mig.Cause {
	for _, r := range rules {
		if r.fits(f, want) {
			return r.cause
		}
	}
	return mig.CauseUnknown
}

// causeOf returns the cause of several faults of one event. The faults are in chronological order,
// and the last known cause decides; but quota takes precedence over lack of capacity, because an
// admin can raise a quota.
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

// rule maps the faults that match all its conditions to a cause. An empty field matches every
// fault.
type rule struct {
	codes  []string
	status int
	says   []string // the message contains one of these texts
	wants  []intent
	cause  mig.Cause
}

func (r rule) fits(f fault, want intent) bool {
	return (r.codes == nil || slices.Contains(r.codes, f.code)) &&
		(r.status == 0 || r.status == f.status) &&
		(r.says == nil || slices.ContainsFunc(r.says, func(text string) bool { return strings.Contains(f.message, text) })) &&
		(r.wants == nil || slices.Contains(r.wants, want))
}

// rules holds everything that this program knows about Compute's codes. Codes in capitals occur in
// operations and in resize requests; the others are reasons of HTTP answers. A status decides only
// if no code does.
var rules = []rule{
	{codes: []string{
		"ZONE_RESOURCE_POOL_EXHAUSTED", "ZONE_RESOURCE_POOL_EXHAUSTED_WITH_DETAILS",
		"RESOURCE_POOL_EXHAUSTED", "RESOURCE_POOL_EXHAUSTED_WITH_DETAILS", "QUEUING_INFEASIBLE_NO_CAPACITY",
		"insufficientCapacity",
	}, cause: mig.CauseCapacity},

	// This code sums up a bulk insert's faults. It does not explain them, whatever status comes
	// with it.
	{codes: []string{"VM_MIN_COUNT_NOT_REACHED"}, cause: mig.CauseUnknown},

	// Two limits share this code: the time that Compute allows for a request, and the size of a
	// group. Waiting does not change the latter.
	{codes: []string{"LIMIT_EXCEEDED"}, says: []string{"MAX_INSTANCES_IN_INSTANCE_GROUP"}, cause: mig.CauseConfig},
	{codes: []string{"LIMIT_EXCEEDED"}, cause: mig.CauseCapacity},

	// Addresses, like quota, become available when other instances are deleted.
	{codes: []string{
		"QUOTA_EXCEEDED", "quotaExceeded", "IP_SPACE_EXHAUSTED", "IP_SPACE_EXHAUSTED_WITH_DETAILS",
	}, cause: mig.CauseQuota},

	{codes: []string{
		"rateLimitExceeded", "userRateLimitExceeded", "dailyLimitExceeded", "RATE_LIMIT_EXCEEDED",
		"CONCURRENT_OPERATIONS_QUOTA_EXCEEDED", "RESOURCE_OPERATION_RATE_EXCEEDED",
	}, cause: mig.CauseRate},

	// A role is missing, the API or the billing is disabled, or a policy forbids the call. Source of
	// the codes that Compute's own pages do not list: google.api.ErrorReason.
	{codes: []string{
		"PERMISSION_DENIED", "PERMISSIONS_ERROR", "SERVICE_ACCOUNT_ACCESS_DENIED", "IAM_PERMISSION_DENIED",
		"accessNotConfigured", "SERVICE_DISABLED", "BILLING_DISABLED", "USER_PROJECT_DENIED",
		"insufficientPermissions", "ACCESS_TOKEN_SCOPE_INSUFFICIENT", "SECURITY_POLICY_VIOLATED",
	}, cause: mig.CausePermission},

	// This reason lasts if the message names a permission or a policy. Otherwise a later call may
	// succeed.
	{codes: []string{"forbidden"}, says: []string{
		"ermission", "does not have access", "rganization's policy", "rganization policy",
	}, cause: mig.CausePermission},

	// The reservation is full; it has room again when its instances are deleted.
	{
		codes: []string{"CONDITION_NOT_MET", "conditionNotMet"}, says: []string{"does not have available resources"},
		wants: []intent{creating}, cause: mig.CauseCapacity,
	},

	// On creation the code means an organization policy; on deletion it means a state.
	{codes: []string{"CONDITION_NOT_MET", "conditionNotMet"}, wants: []intent{creating}, cause: mig.CauseConfig},
	{codes: []string{"CONDITION_NOT_MET", "conditionNotMet"}, cause: mig.CauseConflict},

	{codes: []string{
		"INVALID_ARGUMENT", "INVALID_MACHINE_TYPE", "INVALID_GPU_TYPE", "UNSUPPORTED_OPERATION",
		"AGGREGATE_RESERVATION_NOT_EXIST", "INVALID_FIELD_VALUE", "INVALID_USAGE",
		"notImplemented", // by the endpoint of a region
	}, cause: mig.CauseConfig},

	{codes: []string{
		"resourceInUseByAnotherResource", "RESOURCE_IN_USE_BY_ANOTHER_RESOURCE",
		"resourceNotReady", "RESOURCE_NOT_READY",
	}, cause: mig.CauseConflict},

	// An instance's name is taken while an older instance of that name is being deleted. This is
	// not a conflict with the group or request to be created.
	{codes: alreadyExists, says: []string{"/instances/"}, cause: mig.CauseConflict},
	{codes: alreadyExists, cause: mig.CauseExists},

	// If a creation misses anything but its group, a part of the configuration is missing, such as
	// the template.
	{codes: notFound, wants: []intent{creating}, says: []string{"/instanceGroupManagers/"}, cause: mig.CauseNotFound},
	// slurmflex creates workload policies itself, so a missing policy was deleted too early or does
	// not exist yet.
	{codes: notFound, wants: []intent{creating}, says: []string{"/resourcePolicies/"}, cause: mig.CauseConflict},
	{codes: notFound, wants: []intent{creating}, cause: mig.CauseConfig},
	{codes: notFound, cause: mig.CauseNotFound},

	// An answer without Google's error body comes from another server, so it is no evidence that
	// the named object is missing.
	{codes: []string{"INTERNAL_ERROR", "backendError", "internalError", notGoogles}, cause: mig.CauseUnavailable},

	{status: http.StatusBadRequest, cause: mig.CauseConfig},
	{status: http.StatusUnauthorized, cause: mig.CauseCredentials},
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

// notGoogles stands in for the missing code of an answer that is not in Google's format.
const notGoogles = "not Google's answer"

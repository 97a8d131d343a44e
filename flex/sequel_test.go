package flex

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"slurmflex/mig"
	"slurmflex/test/fakegce"
)

// rejection is a kind of answer to the request for a job's machines. Codes in capitals occur in
// operations, unless the answer has a status.
type rejection struct {
	what    string // the cause in a few words
	status  int    // HTTP status; 0: the operation fails
	codes   []string
	message string
	then    mig.Sequel
}

// rejections has every code and status that mig/gce classifies; a test there compares them with this
// file.
var rejections = []rejection{
	{"the access token is rejected", 401, []string{"authError", "required"}, "Request had invalid authentication credentials.", mig.BacksOff},
	{"too many calls", 403, []string{"rateLimitExceeded", "userRateLimitExceeded", "dailyLimitExceeded", "RATE_LIMIT_EXCEEDED"}, "Rate Limit Exceeded", mig.Repeats},
	{"too many calls", 429, []string{"rateLimitExceeded"}, "Too many requests", mig.Repeats},
	{"too many operations at once", 403, []string{"CONCURRENT_OPERATIONS_QUOTA_EXCEEDED"}, "", mig.Repeats},
	{"too many operations at once", 0, []string{"RESOURCE_OPERATION_RATE_EXCEEDED"}, "Operation rate exceeded for resource 'm'.", mig.Repeats},
	{"Compute or a proxy is unavailable", 408, []string{"backendError"}, "Request Timeout", mig.Repeats},
	{"Compute or a proxy is unavailable", 500, []string{"internalError"}, "Internal error", mig.Repeats},
	{"Compute or a proxy is unavailable", 502, []string{"backendError"}, "Bad Gateway", mig.Repeats},
	{"Compute or a proxy is unavailable", 503, []string{"backendError"}, "Try again", mig.Repeats},
	{"Compute or a proxy is unavailable", 504, []string{"backendError"}, "Deadline expired", mig.Repeats},
	{"Compute has failed", 0, []string{"INTERNAL_ERROR"}, "Internal error. Please try again.", mig.Repeats},
	{"the object is busy", 400, []string{"resourceNotReady", "resourceInUseByAnotherResource"}, "The resource is not ready", mig.Repeats},
	{"the object is busy", 0, []string{"RESOURCE_NOT_READY", "RESOURCE_IN_USE_BY_ANOTHER_RESOURCE"}, "The resource is not ready", mig.Repeats},
	{"the object is busy", 409, []string{"conflict"}, "CONFLICT", mig.Repeats},
	{"an older instance has the name", 0, []string{"RESOURCE_ALREADY_EXISTS"}, "The resource 'projects/demo/zones/us-central1-a/instances/alpha-a3-0' already exists", mig.Repeats},
	{"no capacity", 503, []string{"insufficientCapacity"}, "No capacity", mig.BacksOff},
	{"no capacity", 0, []string{
		"ZONE_RESOURCE_POOL_EXHAUSTED", "ZONE_RESOURCE_POOL_EXHAUSTED_WITH_DETAILS", "RESOURCE_POOL_EXHAUSTED",
		"RESOURCE_POOL_EXHAUSTED_WITH_DETAILS", "QUEUING_INFEASIBLE_NO_CAPACITY",
	}, "There are not enough resources", mig.BacksOff},
	{"no machines within Compute's own limit", 0, []string{"LIMIT_EXCEEDED"}, "Resize request could not provision queued instances in the allocated time.", mig.BacksOff},
	{"the reservation is full", 0, []string{"CONDITION_NOT_MET"}, "Reservation 'h100s' does not have available resources for the request.", mig.BacksOff},
	{"a quota or the addresses are used up", 403, []string{"quotaExceeded"}, "Quota 'GPUS' exceeded.  Limit: 1.0 in region us-central1.", mig.BacksOff},
	{"a quota or the addresses are used up", 0, []string{"QUOTA_EXCEEDED", "IP_SPACE_EXHAUSTED", "IP_SPACE_EXHAUSTED_WITH_DETAILS"}, "Quota 'GPUS' exceeded.", mig.BacksOff},
	{"not all machines of a bulk insert were created", 0, []string{"VM_MIN_COUNT_NOT_REACHED"}, "Requested minimum count of 4 VMs could not be created.", mig.BacksOff},
	{"the call is forbidden, and no permission or policy is named", 403, []string{"forbidden"}, "Forbidden", mig.BacksOff},
	{"slurmflex does not know the answer", 403, []string{"anotherReason"}, "Forbidden", mig.BacksOff},
	{"slurmflex does not know the answer", 501, []string{"anotherReason"}, "Not Implemented", mig.BacksOff},
	{"a role or permission is missing", 403, []string{"forbidden", "IAM_PERMISSION_DENIED"}, "Required 'compute.instances.create' permission for 'projects/demo'", mig.Holds},
	{"a role or permission is missing", 0, []string{"PERMISSION_DENIED", "PERMISSIONS_ERROR", "SERVICE_ACCOUNT_ACCESS_DENIED"}, "Required 'compute.instances.create' permission", mig.Holds},
	{"the token's scopes are too narrow", 403, []string{"insufficientPermissions", "ACCESS_TOKEN_SCOPE_INSUFFICIENT"}, "Request had insufficient authentication scopes.", mig.Holds},
	{"the API or the billing is disabled", 403, []string{"accessNotConfigured", "SERVICE_DISABLED", "BILLING_DISABLED", "USER_PROJECT_DENIED"}, "Compute Engine API has not been used in project 1 before or it is disabled.", mig.Holds},
	{"a policy of the organization forbids it", 403, []string{"forbidden", "SECURITY_POLICY_VIOLATED"}, "Request is prohibited by organization's policy.", mig.Holds},
	{"a policy of the organization forbids it", 412, []string{"conditionNotMet"}, "Constraint constraints/compute.requireShieldedVm violated", mig.Holds},
	{"a policy of the organization forbids it", 0, []string{"CONDITION_NOT_MET"}, "Constraint constraints/compute.requireShieldedVm violated", mig.Holds},
	{"the group would be too large", 0, []string{"LIMIT_EXCEEDED"}, "Exceeded limit 'MAX_INSTANCES_IN_INSTANCE_GROUP' on resource 'm'. Limit: 2000.0", mig.Holds},
	{"the template or the configuration is wrong", 400, []string{"invalid", "anotherReason"}, "Invalid value", mig.Holds},
	{"the endpoint of the region does not have the method", 501, []string{"notImplemented"}, "GKE does not support placement", mig.Holds},
	{"the template or the configuration is wrong", 0, []string{
		"INVALID_ARGUMENT", "INVALID_MACHINE_TYPE", "INVALID_GPU_TYPE", "INVALID_FIELD_VALUE", "INVALID_USAGE",
		"UNSUPPORTED_OPERATION", "AGGREGATE_RESERVATION_NOT_EXIST",
	}, "Specified maxRunDuration is too short. Minimum value is equal to 10 minutes.", mig.Holds},
	{"something that the template names is missing", 404, []string{"notFound"}, "The resource 'projects/demo/global/images/i' was not found", mig.Holds},
	{"something that the template names is missing", 0, []string{"RESOURCE_NOT_FOUND"}, "The resource 'projects/demo/global/images/i' was not found", mig.Holds},
	{"another group has the name", 409, []string{"alreadyExists"}, "The resource 'projects/demo/regions/us-central1/instanceGroupManagers/g' already exists", mig.BacksOff},
}

// fault returns a fault of the fake with the rejection.
func (r rejection) fault(code string) fakegce.Fault {
	if r.status == 0 {
		return fakegce.Fault{OperationError: &fakegce.Problem{Code: code, Message: r.message}}
	}
	return fakegce.Fault{Status: r.status, Reason: code, Message: r.message}
}

const createsGroup = "regionInstanceGroupManagers.insert"

// eachRejection runs a test for each code of each rejection, each in a world of its own.
func eachRejection(t *testing.T, run func(w *world, r rejection, f fakegce.Fault)) {
	t.Helper()
	for _, r := range rejections {
		for _, code := range r.codes {
			t.Run(fmt.Sprintf("%s %d %s", r.what, r.status, code), func(t *testing.T) {
				inWorld(t, func(w *world) {
					f := r.fault(code)
					f.Method = createsGroup
					run(w, r, f)
				})
			})
		}
	}
}

// J5: a single 401 held a job until an admin came.
func TestOneRejectionHoldsAJobOnlyIfItLasts(t *testing.T) {
	eachRejection(t, func(w *world, r rejection, f fakegce.Fault) {
		f.Times = 1
		w.fault(f)
		w.oneJob()
		w.within(10 * time.Second)
		time.Sleep(70 * time.Second)
		w.settle()
		if r.then == mig.Holds {
			assert.Equal(w, []uint32{1}, w.slurm.held())
			return
		}
		assert.Empty(w, w.slurm.held())
		assert.Len(w, w.cloud.State().Groups, 1)
	})
}

func TestEveryRejectionHasItsSequel(t *testing.T) {
	t.Parallel()
	eachRejection(t, func(w *world, r rejection, f fakegce.Fault) {
		w.fault(f)
		w.oneJob()
		calling := 0 // passes that call Compute
		for range 12 {
			before := w.cloud.Counts()[createsGroup]
			w.within(20 * time.Second)
			if w.cloud.Counts()[createsGroup] > before {
				calling++
			}
			time.Sleep(10 * time.Second)
		}
		switch r.then {
		case mig.Holds:
			assert.Equal(w, []uint32{1}, w.slurm.held())
			assert.Equal(w, 1, calling)
		case mig.BacksOff:
			assert.Empty(w, w.slurm.held())
			assert.Equal(w, 2, calling, "one minute passes between the first two attempts, two before the third")
		case mig.Repeats:
			assert.Empty(w, w.slurm.held())
			assert.Equal(w, 12, calling, "each pass calls")
		}
	})
}

// A template that cannot be read blocks its nodeset: the same rejections hold its jobs.
func TestTemplateReadHoldsJobsOnlyIfTheRejectionLasts(t *testing.T) {
	for status, holds := range map[int]bool{http.StatusServiceUnavailable: false, http.StatusNotFound: true} {
		inWorld(t, func(w *world) {
			w.fault(fakegce.Fault{Method: "regionInstanceTemplates.get", Status: status})
			w.oneJob()
			w.passes(3, 10*time.Second)
			assert.Equal(w, holds, len(w.slurm.held()) > 0, status)
			assert.Empty(w, w.cloud.State().Groups)
		})
	}
}

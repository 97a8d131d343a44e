package gce

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"slurmflex/mig"
)

// Each row is a fault as Compute sends it: in answer to a call, in an operation,
// in the record of a request's last attempt or of its failure.
func TestEveryKnownFaultHasItsCause(t *testing.T) {
	tests := []struct {
		name  string
		fault fault
		want  intent
		cause mig.Cause
	}{
		{"cancel a terminal request", fault{412, "conditionNotMet", "Cancelling resize request that has reached a final state is not possible.", nil}, ending, mig.CauseConflict},
		{"the same in a race", fault{0, "CONDITION_NOT_MET", "Cancelling resize request that has reached a final state is not possible.", nil}, ending, mig.CauseConflict},
		{"cancel in CREATING", fault{412, "conditionNotMet", "", nil}, ending, mig.CauseConflict},
		{"duplicate name", fault{409, "alreadyExists", "The resource 'projects/p' already exists", nil}, creating, mig.CauseExists},
		{"duplicate name in an operation", fault{0, "RESOURCE_ALREADY_EXISTS", "The resource 'projects/p' already exists", nil}, creating, mig.CauseExists},
		{"an older instance of that name is still being deleted", fault{0, "RESOURCE_ALREADY_EXISTS", "The resource 'projects/p/zones/us-central1-a/instances/n0' already exists", nil}, creating, mig.CauseConflict},
		{"resizeBy with instances", fault{400, "invalid", "Invalid value", nil}, creating, mig.CauseConfig},
		{"duration out of bounds", fault{0, "INVALID_ARGUMENT", "Specified maxRunDuration is too short. Minimum value is equal to 10 minutes.", nil}, creating, mig.CauseConfig},
		{"group missing, on delete", fault{404, "notFound", "The resource 'projects/p/regions/r/instanceGroupManagers/m' was not found", nil}, ending, mig.CauseNotFound},
		{"group missing, on creating a request", fault{404, "notFound", "The resource 'projects/p/regions/r/instanceGroupManagers/m' was not found", nil}, creating, mig.CauseNotFound},
		{"group missing, on a list", fault{404, "notFound", "The resource 'projects/p/regions/r/instanceGroupManagers/m' was not found", nil}, reading, mig.CauseNotFound},
		{"template missing, on creating a group", fault{404, "notFound", "The resource 'projects/p/global/instanceTemplates/t' was not found", nil}, creating, mig.CauseConfig},
		{"workload policy missing, on creating a group", fault{404, "notFound", "The resource 'projects/p/regions/r/resourcePolicies/w' was not found", nil}, creating, mig.CauseConflict},
		{"workload policy missing, on delete", fault{404, "notFound", "The resource 'projects/p/regions/r/resourcePolicies/w' was not found", nil}, ending, mig.CauseNotFound},
		{"image missing, in an operation", fault{0, "RESOURCE_NOT_FOUND", "The resource 'projects/p/global/images/i' was not found", nil}, creating, mig.CauseConfig},
		{"group missing with weak rights", fault{403, "forbidden", "Required 'compute.instanceGroupManagers.get' permission", nil}, reading, mig.CausePermission},
		{"template in use", fault{400, "resourceInUseByAnotherResource", "is already being used by", nil}, ending, mig.CauseConflict},
		{"mutate in mid-operation", fault{400, "resourceNotReady", "The resource is not ready", nil}, ending, mig.CauseConflict},
		{"rate quota", fault{403, "rateLimitExceeded", "Rate Limit Exceeded", nil}, creating, mig.CauseRate},
		{"concurrent operations", fault{403, "CONCURRENT_OPERATIONS_QUOTA_EXCEEDED", "Rate Limit Exceeded", nil}, creating, mig.CauseRate},
		{"instance deleted during its creation", fault{409, "", "CONFLICT", nil}, creating, mig.CauseConflict},
		{"generic quota code", fault{429, "", "Too many requests", nil}, reading, mig.CauseRate},

		{"insert operation", fault{0, "INVALID_MACHINE_TYPE", "", nil}, creating, mig.CauseConfig},
		{"insert operation", fault{0, "INVALID_GPU_TYPE", "", nil}, creating, mig.CauseConfig},
		{"insert operation", fault{0, "PERMISSION_DENIED", "", nil}, creating, mig.CausePermission},
		{"insert operation, organization's policy", fault{0, "CONDITION_NOT_MET", "Constraint constraints/compute.requireShieldedVm violated", nil}, creating, mig.CauseConfig},
		{"insert operation, full reservation", fault{0, "CONDITION_NOT_MET", "Reservation 'h100s' does not have available resources for the request.", nil}, creating, mig.CauseCapacity},
		{"insert operation", fault{0, "QUEUING_INFEASIBLE_NO_CAPACITY", "Could not create a queued resource due to insufficient capacity.", nil}, creating, mig.CauseCapacity},
		{"insert operation", fault{0, "AGGREGATE_RESERVATION_NOT_EXIST", "Queued Resource Manager is not supported in this zone. Try different locations.", nil}, creating, mig.CauseConfig},
		{"insert operation", fault{0, "UNSUPPORTED_OPERATION", "Requests without accelerators are not supported.", nil}, creating, mig.CauseConfig},
		{"insert operation", fault{0, "QUOTA_EXCEEDED", "Quota 'ACTIVE_RESIZE_REQUESTS' exceeded.  Limit: 100.0 in region us-central1.", nil}, creating, mig.CauseQuota},

		{"last attempt", fault{0, "QUOTA_EXCEEDED", "", nil}, creating, mig.CauseQuota},
		{"last attempt", fault{0, "ZONE_RESOURCE_POOL_EXHAUSTED", "", nil}, creating, mig.CauseCapacity},
		{"last attempt", fault{0, "ZONE_RESOURCE_POOL_EXHAUSTED_WITH_DETAILS", "Waiting for resources.", nil}, creating, mig.CauseCapacity},
		{"last attempt", fault{0, "RESOURCE_POOL_EXHAUSTED_WITH_DETAILS", "There are currently not enough resources available to fulfill the request.", nil}, creating, mig.CauseCapacity},

		{"failed, out of time", fault{0, "LIMIT_EXCEEDED", "Resize request could not provision queued instances in the allocated time.", nil}, creating, mig.CauseCapacity},
		{"failed, group too large", fault{0, "LIMIT_EXCEEDED", "Exceeded limit 'MAX_INSTANCES_IN_INSTANCE_GROUP' on resource 'm'. Limit: 2000.0", nil}, creating, mig.CauseConfig},
		{"failed", fault{0, "QUOTA_EXCEEDED", "", nil}, creating, mig.CauseQuota},
		{"failed", fault{0, "RESOURCE_POOL_EXHAUSTED", "", nil}, creating, mig.CauseCapacity},
		{"failed", fault{0, "IP_SPACE_EXHAUSTED", "", nil}, creating, mig.CauseQuota},
		{"failed", fault{0, "PERMISSIONS_ERROR", "", nil}, creating, mig.CausePermission},
		{"failed, organization's policy", fault{0, "CONDITION_NOT_MET", "Constraint constraints/compute.vmExternalIpAccess violated", nil}, creating, mig.CauseConfig},

		{"bulk insert refused for capacity", fault{503, "insufficientCapacity", "", nil}, creating, mig.CauseCapacity},
		{"bulk insert's sum of faults", fault{503, "VM_MIN_COUNT_NOT_REACHED", "Requested minimum count of 4 VMs could not be created.", nil}, creating, mig.CauseUnknown},

		{"status alone", fault{400, "", "m", nil}, creating, mig.CauseConfig},
		{"status alone", fault{401, "", "m", nil}, reading, mig.CausePermission},
		{"status alone", fault{403, "", "m", nil}, reading, mig.CausePermission},
		{"status alone", fault{408, "", "m", nil}, reading, mig.CauseUnavailable},
		{"status alone", fault{412, "", "m", nil}, creating, mig.CauseConfig},
		{"status alone", fault{412, "", "m", nil}, ending, mig.CauseConflict},
		{"status alone", fault{500, "", "m", nil}, ending, mig.CauseUnavailable},
		{"status alone", fault{502, "", "m", nil}, ending, mig.CauseUnavailable},
		{"status alone", fault{503, "", "m", nil}, ending, mig.CauseUnavailable},
		{"status alone", fault{504, "", "m", nil}, ending, mig.CauseUnavailable},
		{"another machine's 404", fault{404, notGoogles, "404 page not found", nil}, ending, mig.CauseUnavailable},
		{"a code of the future", fault{0, "SOLAR_FLARE", "", nil}, creating, mig.CauseUnknown},
	}
	for _, test := range tests {
		t.Run(test.name+" "+test.fault.code, func(t *testing.T) {
			assert.Equal(t, test.cause, test.fault.cause(test.want))
		})
	}
}

func TestOfSeveralFaultsTheLastKnownOneDecidesButQuotaComesBeforeCapacity(t *testing.T) {
	var (
		quota      = fault{code: "QUOTA_EXCEEDED"}
		capacity   = fault{code: "ZONE_RESOURCE_POOL_EXHAUSTED"}
		timedOut   = fault{code: "LIMIT_EXCEEDED"}
		permission = fault{code: "PERMISSIONS_ERROR"}
		unknown    = fault{code: "SOLAR_FLARE"}
		tooFew     = fault{status: 503, code: "VM_MIN_COUNT_NOT_REACHED"}
	)
	tests := map[string]struct {
		faults []fault
		want   mig.Cause
	}{
		"out of time because of rights":       {[]fault{timedOut, permission}, mig.CausePermission},
		"rights fixed since":                  {[]fault{permission, capacity}, mig.CauseCapacity},
		"quota in one zone, stock-out in one": {[]fault{quota, capacity}, mig.CauseQuota},
		"in the other order":                  {[]fault{capacity, quota}, mig.CauseQuota},
		"an unknown code last":                {[]fault{capacity, unknown}, mig.CauseCapacity},
		"a bulk insert's sum last":            {[]fault{permission, tooFew}, mig.CausePermission},
		"nothing known":                       {[]fault{unknown}, mig.CauseUnknown},
		"nothing at all":                      {nil, mig.CauseUnknown},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, test.want, causeOf(test.faults, creating))
		})
	}
}

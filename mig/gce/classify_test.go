package gce

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"slurmflex/mig"
)

// faultOf returns a fault without details.
func faultOf(status int, code, message string) fault {
	return fault{status: status, code: code, message: message}
}

// Each row is a fault as Compute sends it: in the answer to a call, in an operation, or in a
// request's record of its last attempt or of its failure.
func TestEveryKnownFaultHasACause(t *testing.T) {
	tests := []struct {
		name  string
		fault fault
		want  intent
		cause mig.Cause
	}{
		{"cancel a terminal request", faultOf(412, "conditionNotMet", "Cancelling resize request that has reached a final state is not possible."), ending, mig.CauseConflict},
		{"the same in a race", faultOf(0, "CONDITION_NOT_MET", "Cancelling resize request that has reached a final state is not possible."), ending, mig.CauseConflict},
		{"cancel in CREATING", faultOf(412, "conditionNotMet", ""), ending, mig.CauseConflict},
		{"duplicate name", faultOf(409, "alreadyExists", "The resource 'projects/p' already exists"), creating, mig.CauseExists},
		{"duplicate name in an operation", faultOf(0, "RESOURCE_ALREADY_EXISTS", "The resource 'projects/p' already exists"), creating, mig.CauseExists},
		{"an older instance of that name is still being deleted", faultOf(0, "RESOURCE_ALREADY_EXISTS", "The resource 'projects/p/zones/us-central1-a/instances/n0' already exists"), creating, mig.CauseConflict},
		{"resizeBy with instances", faultOf(400, "invalid", "Invalid value"), creating, mig.CauseConfig},
		{"duration out of bounds", faultOf(0, "INVALID_ARGUMENT", "Specified maxRunDuration is too short. Minimum value is equal to 10 minutes."), creating, mig.CauseConfig},
		{"group missing, on delete", faultOf(404, "notFound", "The resource 'projects/p/regions/r/instanceGroupManagers/m' was not found"), ending, mig.CauseNotFound},
		{"group missing, on creating a request", faultOf(404, "notFound", "The resource 'projects/p/regions/r/instanceGroupManagers/m' was not found"), creating, mig.CauseNotFound},
		{"group missing, on a list", faultOf(404, "notFound", "The resource 'projects/p/regions/r/instanceGroupManagers/m' was not found"), reading, mig.CauseNotFound},
		{"template missing, on creating a group", faultOf(404, "notFound", "The resource 'projects/p/global/instanceTemplates/t' was not found"), creating, mig.CauseConfig},
		{"workload policy missing, on creating a group", faultOf(404, "notFound", "The resource 'projects/p/regions/r/resourcePolicies/w' was not found"), creating, mig.CauseConflict},
		{"workload policy missing, on delete", faultOf(404, "notFound", "The resource 'projects/p/regions/r/resourcePolicies/w' was not found"), ending, mig.CauseNotFound},
		{"image missing, in an operation", faultOf(0, "RESOURCE_NOT_FOUND", "The resource 'projects/p/global/images/i' was not found"), creating, mig.CauseConfig},
		{"group missing with weak rights", faultOf(403, "forbidden", "Required 'compute.instanceGroupManagers.get' permission"), reading, mig.CausePermission},
		{"template in use", faultOf(400, "resourceInUseByAnotherResource", "is already being used by"), ending, mig.CauseConflict},
		{"mutate in mid-operation", faultOf(400, "resourceNotReady", "The resource is not ready"), ending, mig.CauseConflict},
		{"no access to the nodes' account", faultOf(403, "forbidden", "The user does not have access to service account 'n@p.iam.gserviceaccount.com'."), creating, mig.CausePermission},
		{"organization's policy", faultOf(403, "forbidden", "Request is prohibited by organization's policy. vpcServiceControlsUniqueIdentifier: x"), creating, mig.CausePermission},
		{"disabled API", faultOf(403, "accessNotConfigured", "Compute Engine API has not been used in project 1 before or it is disabled."), creating, mig.CausePermission},
		{"narrow scopes", faultOf(403, "insufficientPermissions", "Request had insufficient authentication scopes."), reading, mig.CausePermission},
		{"forbidden without a reason", faultOf(403, "forbidden", "Forbidden"), creating, mig.CauseUnknown},
		{"rate quota", faultOf(403, "rateLimitExceeded", "Rate Limit Exceeded"), creating, mig.CauseRate},
		{"concurrent operations", faultOf(403, "CONCURRENT_OPERATIONS_QUOTA_EXCEEDED", "Rate Limit Exceeded"), creating, mig.CauseRate},
		{"instance deleted during its creation", faultOf(409, "", "CONFLICT"), creating, mig.CauseConflict},
		{"generic quota code", faultOf(429, "", "Too many requests"), reading, mig.CauseRate},

		{"insert operation", faultOf(0, "INVALID_MACHINE_TYPE", ""), creating, mig.CauseConfig},
		{"insert operation", faultOf(0, "INVALID_GPU_TYPE", ""), creating, mig.CauseConfig},
		{"insert operation", faultOf(0, "PERMISSION_DENIED", ""), creating, mig.CausePermission},
		{"insert operation, organization's policy", faultOf(0, "CONDITION_NOT_MET", "Constraint constraints/compute.requireShieldedVm violated"), creating, mig.CauseConfig},
		{"insert operation, full reservation", faultOf(0, "CONDITION_NOT_MET", "Reservation 'h100s' does not have available resources for the request."), creating, mig.CauseCapacity},
		{"insert operation", faultOf(0, "QUEUING_INFEASIBLE_NO_CAPACITY", "Could not create a queued resource due to insufficient capacity."), creating, mig.CauseCapacity},
		{"insert operation", faultOf(0, "AGGREGATE_RESERVATION_NOT_EXIST", "Queued Resource Manager is not supported in this zone. Try different locations."), creating, mig.CauseConfig},
		{"insert operation", faultOf(0, "UNSUPPORTED_OPERATION", "Requests without accelerators are not supported."), creating, mig.CauseConfig},
		{"insert operation", faultOf(0, "QUOTA_EXCEEDED", "Quota 'ACTIVE_RESIZE_REQUESTS' exceeded.  Limit: 100.0 in region us-central1."), creating, mig.CauseQuota},

		{"last attempt", faultOf(0, "QUOTA_EXCEEDED", ""), creating, mig.CauseQuota},
		{"last attempt", faultOf(0, "ZONE_RESOURCE_POOL_EXHAUSTED", ""), creating, mig.CauseCapacity},
		{"last attempt", faultOf(0, "ZONE_RESOURCE_POOL_EXHAUSTED_WITH_DETAILS", "Waiting for resources."), creating, mig.CauseCapacity},
		{"last attempt", faultOf(0, "RESOURCE_POOL_EXHAUSTED_WITH_DETAILS", "There are currently not enough resources available to fulfill the request."), creating, mig.CauseCapacity},

		{"failed, out of time", faultOf(0, "LIMIT_EXCEEDED", "Resize request could not provision queued instances in the allocated time."), creating, mig.CauseCapacity},
		{"failed, group too large", faultOf(0, "LIMIT_EXCEEDED", "Exceeded limit 'MAX_INSTANCES_IN_INSTANCE_GROUP' on resource 'm'. Limit: 2000.0"), creating, mig.CauseConfig},
		{"failed", faultOf(0, "QUOTA_EXCEEDED", ""), creating, mig.CauseQuota},
		{"failed", faultOf(0, "RESOURCE_POOL_EXHAUSTED", ""), creating, mig.CauseCapacity},
		{"failed", faultOf(0, "IP_SPACE_EXHAUSTED", ""), creating, mig.CauseQuota},
		{"failed", faultOf(0, "PERMISSIONS_ERROR", ""), creating, mig.CausePermission},
		{"failed, organization's policy", faultOf(0, "CONDITION_NOT_MET", "Constraint constraints/compute.vmExternalIpAccess violated"), creating, mig.CauseConfig},

		{"bulk insert refused for capacity", faultOf(503, "insufficientCapacity", ""), creating, mig.CauseCapacity},
		{"bulk insert's sum of faults", faultOf(503, "VM_MIN_COUNT_NOT_REACHED", "Requested minimum count of 4 VMs could not be created."), creating, mig.CauseUnknown},

		{"status alone", faultOf(400, "", "m"), creating, mig.CauseConfig},
		{"status alone", faultOf(401, "", "m"), reading, mig.CauseCredentials},
		{"status alone", faultOf(401, "ACCESS_TOKEN_EXPIRED", "m"), creating, mig.CauseCredentials},
		{"status alone", faultOf(403, "", "m"), reading, mig.CauseUnknown},
		{"status alone", faultOf(408, "", "m"), reading, mig.CauseUnavailable},
		{"status alone", faultOf(412, "", "m"), creating, mig.CauseConfig},
		{"status alone", faultOf(412, "", "m"), ending, mig.CauseConflict},
		{"status alone", faultOf(500, "", "m"), ending, mig.CauseUnavailable},
		{"status alone", faultOf(502, "", "m"), ending, mig.CauseUnavailable},
		{"status alone", faultOf(503, "", "m"), ending, mig.CauseUnavailable},
		{"status alone", faultOf(504, "", "m"), ending, mig.CauseUnavailable},
		{"another machine's 404", faultOf(404, notGoogles, "404 page not found"), ending, mig.CauseUnavailable},
		{"a code of the future", faultOf(0, "SOLAR_FLARE", ""), creating, mig.CauseUnknown},
	}
	for _, test := range tests {
		t.Run(test.name+" "+test.fault.code, func(t *testing.T) {
			assert.Equal(t, test.cause, test.fault.cause(test.want))
		})
	}
}

// The page is written by a test of package flex, which creates each answer.
func TestPageShowsEveryCodeAndStatus(t *testing.T) {
	page, err := os.ReadFile("../../docs/troubleshooting.md")
	require.NoError(t, err)
	_, rest, _ := strings.Cut(string(page), "<!-- rejections")
	table, _, _ := strings.Cut(rest, "<!-- end of rejections")
	for _, r := range rules {
		for _, code := range r.codes {
			if code != notGoogles {
				assert.Contains(t, table, "`"+code+"`", "add it to rejections in flex/sequel_test.go")
			}
		}
		if r.status != 0 {
			assert.Regexp(t, fmt.Sprintf(`\b%d\b`, r.status), table, "add it to rejections in flex/sequel_test.go")
		}
	}
}

func TestLastKnownFaultDecidesButQuotaPrecedesCapacity(t *testing.T) {
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

func TestUsedUpQuotaIsNamedIfGoogleNamesIt(t *testing.T) {
	long := faultOf(403, "quotaExceeded", "Quota 'GPUS' exceeded.  Limit: 1.0 in region us-central1.")
	detailed := faultOf(0, "QUOTA_EXCEEDED", "Some other words")
	detailed.quota = mig.UsedUp{Metric: "CPUS", Limit: 24, Region: "europe-west4"}
	tests := map[string]struct {
		faults []fault
		want   mig.UsedUp
	}{
		"in a message":              {[]fault{long}, mig.UsedUp{Metric: "GPUS", Limit: 1, Region: "us-central1"}},
		"in a shorter message":      {[]fault{faultOf(0, "QUOTA_EXCEEDED", "Quota 'GPUS' exceeded.")}, mig.UsedUp{Metric: "GPUS"}},
		"in details":                {[]fault{detailed}, mig.UsedUp{Metric: "CPUS", Limit: 24, Region: "europe-west4"}},
		"of several, the last":      {[]fault{long, detailed}, mig.UsedUp{Metric: "CPUS", Limit: 24, Region: "europe-west4"}},
		"beside a lack of capacity": {[]fault{long, faultOf(0, "ZONE_RESOURCE_POOL_EXHAUSTED", "none")}, mig.UsedUp{Metric: "GPUS", Limit: 1, Region: "us-central1"}},
		"nowhere":                   {[]fault{faultOf(0, "IP_SPACE_EXHAUSTED", "none left")}, mig.UsedUp{}},
		"of another fault":          {[]fault{faultOf(0, "PERMISSIONS_ERROR", "Quota 'GPUS' exceeded.")}, mig.UsedUp{}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) { assert.Equal(t, test.want, usedUpIn(test.faults)) })
	}
}

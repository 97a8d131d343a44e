package gce

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"

	"slurmflex/mig"
	"slurmflex/test/must"
)

// faultOf returns a fault without details.
func faultOf(status int, code, message string) fault {
	return fault{status: status, code: code, message: message}
}

// Each row is a fault as Compute sends it. flex/sequel_test.go has all faults of a call that creates
// a group.
func TestEveryKnownFaultHasACause(t *testing.T) {
	const group, policy = "The resource 'projects/p/regions/r/instanceGroupManagers/m' was not found", "The resource 'projects/p/regions/r/resourcePolicies/w' was not found"
	const final = "Cancelling resize request that has reached a final state is not possible."
	for _, test := range []struct {
		fault fault
		want  intent
		cause mig.Cause
	}{
		{faultOf(412, "conditionNotMet", final), ending, mig.CauseConflict},
		{faultOf(0, "CONDITION_NOT_MET", final), ending, mig.CauseConflict},
		{faultOf(404, "notFound", group), ending, mig.CauseNotFound},
		{faultOf(404, "notFound", group), creating, mig.CauseNotFound},
		{faultOf(404, "notFound", group), reading, mig.CauseNotFound},
		{faultOf(404, "notFound", policy), creating, mig.CauseConflict},
		{faultOf(404, "notFound", policy), ending, mig.CauseNotFound},
		{faultOf(400, "resourceInUseByAnotherResource", "is already being used by"), ending, mig.CauseConflict},
		{faultOf(403, "", "m"), reading, mig.CauseUnknown},
		{faultOf(412, "", "m"), ending, mig.CauseConflict},
		{faultOf(404, notGoogles, "404 page not found"), ending, mig.CauseUnavailable},
	} {
		assert.Equal(t, test.cause, test.fault.cause(test.want), "%v", test)
	}
}

// Package flex tests what follows from each answer.
func TestEveryCodeAndStatusHasATestedSequel(t *testing.T) {
	tests := must.Text("../../flex/sequel_test.go")
	for _, r := range rules {
		for _, code := range r.codes {
			if code != notGoogles {
				assert.Contains(t, tests, `"`+code+`"`, "add it to rejections")
			}
		}
		if r.status != 0 {
			assert.Contains(t, tests, fmt.Sprintf(`", %d, []string{`, r.status), "add it to rejections")
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
		"in a shorter message": {[]fault{faultOf(0, "QUOTA_EXCEEDED", "Quota 'GPUS' exceeded.")}, mig.UsedUp{Metric: "GPUS"}},
		"of several, the last": {[]fault{long, detailed}, mig.UsedUp{Metric: "CPUS", Limit: 24, Region: "europe-west4"}},
		"nowhere":              {[]fault{faultOf(0, "IP_SPACE_EXHAUSTED", "none left")}, mig.UsedUp{}},
		"of another fault":     {[]fault{faultOf(0, "PERMISSIONS_ERROR", "Quota 'GPUS' exceeded.")}, mig.UsedUp{}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) { assert.Equal(t, test.want, usedUpIn(test.faults)) })
	}
}

package gce

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"slurmflex/mig"
)

// testBulk returns a bulk insert of two instances in the zones.
func testBulk(zones ...string) mig.BulkSpec {
	return mig.BulkSpec{
		Region: testRegion, Zones: zones,
		Template:  mig.Template{Link: "projects/p/global/instanceTemplates/T", Labels: map[string]string{"team": "ml", "slurmflex-nodeset": "old"}},
		Instances: []string{"alpha-a3-0", "alpha-a3-1"}, Model: mig.FlexStart, Duration: 2 * time.Hour, Stamp: testStamp,
	}
}

const (
	twoZones    = "bulk insert alpha-a3-0 and 1 more in us-central1-a, us-central1-b: "
	regionJSON  = `{"name":"us-central1","zones":["https://x/zones/us-central1-a","https://x/zones/us-central1-b","https://x/zones/us-central1-c"]}`
	bulkPath    = "regions/us-central1/instances/bulkInsert"
	partsPath   = "aggregated/operations"
	tooFewError = `"httpErrorStatusCode":503,"httpErrorMessage":"X","error":{"errors":[{"code":"VM_MIN_COUNT_NOT_REACHED","message":"Requested minimum count of 2 VMs could not be created."}]}`
)

func TestRegionalBulkInsertDeniesOtherZones(t *testing.T) {
	api := answers(ok(regionJSON), ok(done))
	require.NoError(t, clientOf(t, inMemory{api}).BulkInsert(t.Context(), testBulk("us-central1-a", "us-central1-b")))
	require.Len(t, api.calls, 2)
	assert.Equal(t, call{"GET", regionPath, "alt=json&prettyPrint=false", ""}, api.calls[0])
	assert.Equal(t, "/compute/v1/projects/p/"+bulkPath, api.calls[1].path)
	var sent struct{ LocationPolicy json.RawMessage }
	require.NoError(t, json.Unmarshal([]byte(api.calls[1].body), &sent))
	assert.JSONEq(t, `{"targetShape":"ANY_SINGLE_ZONE","locations":{
		"zones/us-central1-a":{"preference":"ALLOW"},
		"zones/us-central1-b":{"preference":"ALLOW"},
		"zones/us-central1-c":{"preference":"DENY"}}}`, string(sent.LocationPolicy))
}

func TestFailedBulkInsertNamesZonesAndReasons(t *testing.T) {
	const group = `,"operationGroupId":"g-1"`
	tests := map[string]struct {
		operation string // without its name and status
		parts     http.HandlerFunc
		cause     mig.Cause
		want      string
	}{
		"in its own words": {
			`"httpErrorStatusCode":403,"httpErrorMessage":"X","error":{"errors":[{"code":"QUOTA_EXCEEDED","message":"Quota exceeded."}]}`,
			nil, mig.CauseQuota,
			twoZones + "403 QUOTA_EXCEEDED: Quota exceeded.",
		},
		"with how far it came in each zone": {
			`"error":{"errors":[{"code":"ZONE_RESOURCE_POOL_EXHAUSTED","message":"Stock-out."}]},
			 "instancesBulkInsertOperationMetadata":{"perLocationStatus":{
			  "zones/us-central1-b":{"status":"DONE","targetVmCount":2,"createdVmCount":1,"failedToCreateVmCount":1,"deletedVmCount":1},
			  "zones/us-central1-a":{"status":"DONE","targetVmCount":2,"failedToCreateVmCount":2}}}`,
			nil, mig.CauseCapacity,
			twoZones + "ZONE_RESOURCE_POOL_EXHAUSTED: Stock-out. (us-central1-a: 0 of 2 created, 2 failed, 0 deleted, us-central1-b: 1 of 2 created, 1 failed, 1 deleted)",
		},
		"with the errors of its parts, once per zone": {
			tooFewError + group,
			aList(`{"items":{
			 "zones/us-central1-b":{"operations":[{"name":"part-3","error":{"errors":[{"code":"ZONE_RESOURCE_POOL_EXHAUSTED","message":"No n0."}]}}]},
			 "zones/us-central1-a":{"operations":[
			  {"name":"part-0","status":"DONE"},
			  {"name":"part-1","error":{"errors":[{"code":"ZONE_RESOURCE_POOL_EXHAUSTED","message":"No n0."}]}},
			  {"name":"part-2","error":{"errors":[{"code":"ZONE_RESOURCE_POOL_EXHAUSTED","message":"No n1."}]}}]},
			 "regions/us-central1":{"operations":[{"name":"operation-1",` + tooFewError + `}]}}}`),
			mig.CauseCapacity,
			twoZones + "503 VM_MIN_COUNT_NOT_REACHED: Requested minimum count of 2 VMs could not be created.; " +
				"ZONE_RESOURCE_POOL_EXHAUSTED: No n0. (in us-central1-a); ZONE_RESOURCE_POOL_EXHAUSTED: No n0. (in us-central1-b)",
		},
		"of its parts nothing that can be read": {
			tooFewError + group,
			refusal(403, "forbidden", "no permission"),
			mig.CauseUnknown,
			twoZones + "503 VM_MIN_COUNT_NOT_REACHED: Requested minimum count of 2 VMs could not be created.",
		},
		"not at all, in a second zone": {
			`"instancesBulkInsertOperationMetadata":{"perLocationStatus":{
			 "zones/us-central1-a":{"status":"DONE","targetVmCount":2,"failedToCreateVmCount":2},"zones/us-central1-b":{"status":"DONE","targetVmCount":2,"createdVmCount":2}}}`,
			nil, mig.CauseNone, "",
		},
		"without an error, by its own count": {
			`"instancesBulkInsertOperationMetadata":{"perLocationStatus":{"zones/us-central1-a":{"status":"DONE","targetVmCount":2,"createdVmCount":1}}}`,
			nil, mig.CauseUnknown,
			twoZones + "1 of 2 instances created (us-central1-a: 1 of 2 created, 0 failed, 0 deleted)",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			paths := map[string]http.HandlerFunc{
				"regions/us-central1": ok(regionJSON),
				bulkPath:              ok(`{"name":"operation-1","status":"DONE",` + test.operation + `}`),
			}
			if test.parts != nil {
				paths[partsPath] = test.parts
			}
			err := clientOf(t, inMemory{atPaths(paths)}).BulkInsert(t.Context(), testBulk("us-central1-a", "us-central1-b"))
			assert.Equal(t, test.cause, mig.CauseOf(err))
			if test.want != "" {
				assert.EqualError(t, err, test.want)
			}
		})
	}
}

func TestBulkInsertFailsIfTheZonesCannotBeRead(t *testing.T) {
	for name, test := range map[string]struct {
		answer http.HandlerFunc
		cause  mig.Cause
		want   string
	}{
		"refused":        {refusal(403, "forbidden", "no permission"), mig.CausePermission, twoZones + "403 forbidden: no permission"},
		"not understood": {ok(`{"zones":7}`), mig.CauseUnavailable, twoZones + "answer not understood: "},
	} {
		t.Run(name, func(t *testing.T) {
			api := answers(test.answer)
			err := clientOf(t, inMemory{api}).BulkInsert(t.Context(), testBulk("us-central1-a", "us-central1-b"))
			require.ErrorContains(t, err, test.want)
			assert.Equal(t, test.cause, mig.CauseOf(err))
			assert.Len(t, api.calls, 1)
		})
	}
}

// counting counts the calls that succeed.
func counting(calls *atomic.Int32) func(*Options) {
	return func(o *Options) {
		o.Observe = func(_ string, status int, _ time.Duration) {
			if status == http.StatusOK {
				calls.Add(1)
			}
		}
	}
}

func TestFailedDeletionDoesNotStopTheOthers(t *testing.T) {
	const zone = "zones/us-central1-a/instances/"
	slow := func(w http.ResponseWriter, r *http.Request) {
		time.Sleep(time.Second)
		ok(running)(w, r)
	}
	synctest.Test(t, func(t *testing.T) {
		var begun atomic.Int32
		c := clientOf(t, inMemory{atPaths(map[string]http.HandlerFunc{
			zone + "n0": refusal(403, "forbidden", "no permission"),
			zone + "n1": slow, zone + "n3": slow,
			zone + "n2": refusal(404, "notFound", "was not found"),
		})}, counting(&begun))
		start := time.Now()
		err := c.DeleteVMs(t.Context(), vms("n0", "n1", "n2", "n3"))
		failsWith(t, err, mig.CausePermission, "delete instance us-central1-a/n0: 403 forbidden: no permission")
		assert.Equal(t, time.Second, time.Since(start))
		assert.EqualValues(t, 2, begun.Load())

		assert.NoError(t, c.DeleteVMs(t.Context(), vms("n2")), "gone is deleted")
		assert.NoError(t, c.DeleteVMs(t.Context(), nil))
	})
}

func TestHangingZoneDelaysNoDeletionInOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var names []string
		routes := map[string]http.HandlerFunc{"zones/us-central1-b/instances/n": ok(running)}
		for i := range 2 * sideBySide {
			names = append(names, fmt.Sprint("n", i))
			routes["zones/us-central1-a/instances/n"+fmt.Sprint(i)] = func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }
		}
		var begun atomic.Int32
		c := clientOf(t, inMemory{atPaths(routes)}, counting(&begun))
		ctx, over := context.WithTimeout(t.Context(), time.Minute)
		defer over()
		require.Error(t, c.DeleteVMs(ctx, append(vms(names...), mig.Instance{Name: "n", Zone: "us-central1-b"})))
		assert.EqualValues(t, 1, begun.Load())
	})
}

func vms(names ...string) []mig.Instance {
	instances := make([]mig.Instance, len(names))
	for i, name := range names {
		instances[i] = mig.Instance{Name: name, Zone: "us-central1-a"}
	}
	return instances
}

func TestBulkInsertSetsWhatItsModelPrescribes(t *testing.T) {
	for model, want := range map[string]string{
		mig.Standard: `{"provisioningModel":"STANDARD","automaticRestart":false}`,
		mig.Spot:     `{"provisioningModel":"SPOT","instanceTerminationAction":"DELETE","onHostMaintenance":"TERMINATE","automaticRestart":false}`,
	} {
		b, api := testBulk("us-central1-b"), answers(ok(done))
		b.Model, b.Duration = model, 0
		require.NoError(t, clientOf(t, inMemory{api}).BulkInsert(t.Context(), b))
		assert.JSONEq(t, want, string(sentProperties(t, api)["scheduling"]))
		assert.JSONEq(t, `{"consumeReservationType":"NO_RESERVATION"}`, string(sentProperties(t, api)["reservationAffinity"]))
	}
	b, api := testBulk("us-central1-b"), answers(ok(done))
	b.Model, b.Duration, b.Reservation = mig.Standard, 0, "h100s"
	require.NoError(t, clientOf(t, inMemory{api}).BulkInsert(t.Context(), b))
	assert.JSONEq(t, `{"consumeReservationType":"SPECIFIC_RESERVATION","key":"compute.googleapis.com/reservation-name","values":["h100s"]}`,
		string(sentProperties(t, api)["reservationAffinity"]))
}

// sentProperties returns the instanceProperties of the only call.
func sentProperties(t *testing.T, api *script) map[string]json.RawMessage {
	t.Helper()
	require.Len(t, api.calls, 1)
	var sent struct{ InstanceProperties map[string]json.RawMessage }
	require.NoError(t, json.Unmarshal([]byte(api.calls[0].body), &sent))
	return sent.InstanceProperties
}

package gce

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"slurmflex/mig"
	"slurmflex/test/must"
)

const regionPath = "/compute/v1/projects/p/regions/us-central1"

func TestMutationsAreSentInComputesFormat(t *testing.T) {
	const flexGroup = `{"name":"alpha-a3-job-812","baseInstanceName":"alpha-a3-job-812","targetSize":0,
		"description":"{\"slurmflex\":1,\"cluster\":\"alpha\",\"nodeset\":\"a3\",\"job\":812}",
		"versions":[{"instanceTemplate":"projects/p/regions/us-central1/instanceTemplates/T"}],
		"distributionPolicy":{"targetShape":"ANY_SINGLE_ZONE","zones":[{"zone":"projects/p/zones/us-central1-a"},{"zone":"projects/p/zones/us-central1-b"}]},
		"updatePolicy":{"type":"OPPORTUNISTIC","instanceRedistributionType":"NONE"},
		"instanceLifecyclePolicy":{"defaultActionOnFailure":"DO_NOTHING"},
		"resourcePolicies":{"workloadPolicy":"projects/p/regions/us-central1/resourcePolicies/alpha-a3-job-812"}}`
	const groups, stamped = regionPath + "/instanceGroupManagers", `"description":"{\"slurmflex\":1,\"cluster\":\"alpha\",\"nodeset\":\"a3\",\"job\":812}"`
	placed := testGroup
	placed.Policy = "alpha-a3-job-812"
	for name, test := range map[string]struct {
		do         func(context.Context, *Client) error
		sent, body string
	}{
		"a group with a workload policy": {
			func(ctx context.Context, c *Client) error { return c.CreateGroup(ctx, placed) }, "POST " + groups,
			flexGroup,
		},
		"a request that names its instances": {
			func(ctx context.Context, c *Client) error {
				spec := mig.RequestSpec{Name: "a1", Instances: []string{"n0", "n1"}, Duration: 2 * time.Hour}
				return c.CreateRequest(ctx, testRegion, "alpha-a3-job-812", spec)
			},
			"POST " + groups + "/alpha-a3-job-812/resizeRequests",
			`{"name":"a1","instances":[{"name":"n0"},{"name":"n1"}],"requestedRunDuration":{"seconds":"7200"}}`,
		},
		"a workload policy with the longest distance": {
			func(ctx context.Context, c *Client) error {
				return c.CreatePolicy(ctx, mig.PolicySpec{Name: "alpha-a3-job-812", Region: testRegion, Distance: "BLOCK", Stamp: testStamp})
			},
			"POST " + regionPath + "/resourcePolicies",
			`{"name":"alpha-a3-job-812",` + stamped + `,"workloadPolicy":{"type":"HIGH_THROUGHPUT","maxTopologyDistance":"BLOCK"}}`,
		},
		"a bulk insert into one zone": {
			func(ctx context.Context, c *Client) error { return c.BulkInsert(ctx, testBulk("us-central1-b")) },
			"POST /compute/v1/projects/p/zones/us-central1-b/instances/bulkInsert",
			`{"count":"2","minCount":"2","perInstanceProperties":{"alpha-a3-0":{},"alpha-a3-1":{}},
			 "sourceInstanceTemplate":"projects/p/global/instanceTemplates/T",
			 "instanceProperties":{
			  "labels":{"team":"ml","slurmflex-version":"1","slurmflex-cluster":"alpha","slurmflex-nodeset":"a3","slurmflex-job":"812"},
			  "scheduling":{"provisioningModel":"FLEX_START","maxRunDuration":{"seconds":"7200"},
			   "instanceTerminationAction":"DELETE","onHostMaintenance":"TERMINATE","automaticRestart":false},
			  "reservationAffinity":{"consumeReservationType":"NO_RESERVATION"}}}`,
		},
		"a deletion of instances by their paths": {
			func(ctx context.Context, c *Client) error {
				return c.DeleteInstances(ctx, testRegion, "g", []mig.Instance{{Name: "n0", Zone: "us-central1-b"}})
			},
			"POST " + groups + "/g/deleteInstances",
			`{"instances":["projects/p/zones/us-central1-b/instances/n0"],"skipInstancesOnValidationError":true}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			api := answers(ok(done))
			require.NoError(t, test.do(t.Context(), clientOf(t, inMemory{api})))
			require.Len(t, api.calls, 1)
			sent := api.calls[0]
			assert.Equal(t, test.sent, sent.method+" "+sent.path)
			assert.JSONEq(t, test.body, sent.body)
			query := must.Get(url.ParseQuery(sent.query))
			assert.Len(t, query, 1)
			assert.Len(t, query.Get("requestId"), 36)
		})
	}
}

func TestDeleteInstancesSplitsLongLists(t *testing.T) {
	instances := make([]mig.Instance, 2001)
	for i := range instances {
		instances[i] = mig.Instance{Name: fmt.Sprintf("alpha-a3-%d", i), Zone: "us-central1-a"}
	}
	api := answers(ok(done))
	c := clientOf(t, inMemory{api})
	require.NoError(t, c.DeleteInstances(t.Context(), testRegion, "g", instances))
	require.Len(t, api.calls, 3)
	var sizes []int
	for _, call := range api.calls {
		sizes = append(sizes, strings.Count(call.body, "/instances/"))
	}
	assert.Equal(t, []int{1000, 1000, 1}, sizes)

	require.NoError(t, c.DeleteInstances(t.Context(), testRegion, "g", nil))
	assert.Len(t, api.calls, 3, "no call if there is nothing to delete")
}

func TestMutationWaitsUntilItsOperationIsDone(t *testing.T) {
	held := func(by time.Duration, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			time.Sleep(by)
			ok(body)(w, r)
		}
	}
	for name, c := range map[string]struct {
		waits []http.HandlerFunc
		took  time.Duration
	}{
		"one of a second is known after a second, with one wait": {[]http.HandlerFunc{held(time.Second, done)}, time.Second},
		"a wait that ends early is asked again once a second":    {[]http.HandlerFunc{ok(running), ok(running), ok(running), ok(done)}, 3 * time.Second},
		"a wait may be held for two minutes": {
			[]http.HandlerFunc{held(2*time.Minute, running), held(2*time.Minute, running), ok(done)}, 4 * time.Minute,
		},
	} {
		inBubble(t, name, func(t *testing.T) {
			api, start := answers(append([]http.HandlerFunc{ok(running)}, c.waits...)...), time.Now()
			require.NoError(t, clientOf(t, inMemory{api}).CreateGroup(t.Context(), testGroup))
			assert.Equal(t, c.took, time.Since(start))
			require.Len(t, api.calls, 1+len(c.waits))
			assert.Equal(t, call{"POST", regionPath + "/operations/operation-1/wait", "alt=json&prettyPrint=false", ""}, api.calls[1])
		})
	}
}

// Google's Wait treats an operation with errors but without HTTP status as a success, and drops the
// codes of an operation with a status.
func TestOperationWithErrorsFailsTheCall(t *testing.T) {
	const message = "Cancelling resize request that has reached a final state is not possible."
	tests := map[string]struct{ operation, want string }{
		"without an HTTP status": {doneWith(0, "CONDITION_NOT_MET", message), "cancel resize request g/a1: CONDITION_NOT_MET: " + message},
		"with an HTTP status":    {doneWith(412, "CONDITION_NOT_MET", message), "cancel resize request g/a1: 412 CONDITION_NOT_MET: " + message},
		"with a status only":     {`{"name":"operation-1","status":"DONE","httpErrorStatusCode":412,"httpErrorMessage":"PRECONDITION FAILED"}`, "cancel resize request g/a1: 412: PRECONDITION FAILED"},
	}
	for name, test := range tests {
		for when, api := range map[string]*script{
			"at once":      answers(ok(test.operation)),
			"after a wait": answers(ok(running), ok(test.operation)),
		} {
			t.Run(name+" "+when, func(t *testing.T) {
				err := clientOf(t, inMemory{api}).CancelRequest(t.Context(), testRegion, "g", "a1")
				failsWith(t, err, mig.CauseConflict, test.want)
			})
		}
	}
}

// The Go client's apierror has no Reason for answers that contain "errors".
func TestErrorAnswerIsClassifiedByItsReason(t *testing.T) {
	const (
		ended = `{"error":{"code":412,"message":"Cancelling is not possible.","errors":[{"message":"Cancelling is not possible.","domain":"global",
			"reason":"conditionNotMet","location":"If-Match","locationType":"header"}]}}`
		tooMany = `{"error":{"code":403,"message":"Rate Limit Exceeded","errors":[{"message":"Rate Limit Exceeded","domain":"usageLimits",
			"reason":"rateLimitExceeded"}],"details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"CONCURRENT_OPERATIONS_QUOTA_EXCEEDED"}]}}`
	)
	for name, test := range map[string]struct {
		answer http.HandlerFunc
		cause  mig.Cause
		want   string
	}{
		"a deletion in the wrong state":                  {answer(412, ended), mig.CauseConflict, "412 conditionNotMet: Cancelling is not possible."},
		"too many calls, with details beside the reason": {answer(403, tooMany), mig.CauseRate, "403 rateLimitExceeded: Rate Limit Exceeded"},
		"a group that is not there, in Google's newer form": {
			answer(404, `{"error":{"code":404,"message":"The resource was not found","status":"NOT_FOUND"}}`),
			mig.CauseNotFound, "404 notFound: The resource was not found",
		},
		"an endpoint other than Google's does not prove that a group is gone": {
			answer(404, "404 page not found\n"), mig.CauseUnavailable, `404 not Google's answer: Not Found: "404 page not found"`,
		},
		"words over several lines": {
			answer(403, `{"error":{"code":403,"message":"Required permission\nfor\n\tthis","errors":[{"reason":"forbidden","message":"x"}]}}`),
			mig.CausePermission, "403 forbidden: Required permission for this",
		},
	} {
		inBubble(t, name, func(t *testing.T) {
			err := deleteGroup(t, clientOf(t, inMemory{answers(test.answer)}))
			failsWith(t, err, test.cause, "delete group g: "+test.want)
		})
	}
}

func TestErrorDetailsAreKept(t *testing.T) {
	api := answers(ok(`{"name":"operation-1","status":"DONE","error":{"errors":[{"code":"QUOTA_EXCEEDED",
		"message":"Quota 'ACTIVE_RESIZE_REQUESTS' exceeded.  Limit: 100.0 in region us-central1.",
		"errorDetails":[
		 {"quotaInfo":{"limit":100,"limitName":"ACTIVE-RESIZE-REQUESTS-per-project-region","metricName":"compute.googleapis.com/active_resize_requests","dimensions":{"region":"us-central1"}}},
		 {"errorInfo":{"reason":"resource_availability","domain":"compute.googleapis.com","metadatas":{"vmType":"a3-highgpu-8g","zone":"us-central1-a"}}}]}]}}`))
	err := clientOf(t, inMemory{api}).CreateRequest(t.Context(), testRegion, "g", mig.RequestSpec{Name: "a1", Instances: []string{"n0"}, Duration: time.Hour})
	failsWith(t, err, mig.CauseQuota, "create resize request g/a1: QUOTA_EXCEEDED: Quota 'ACTIVE_RESIZE_REQUESTS' exceeded. Limit: 100.0 in region us-central1."+
		" (quota ACTIVE-RESIZE-REQUESTS-per-project-region=100, region=us-central1, reason=resource_availability, vmType=a3-highgpu-8g, zone=us-central1-a)")
	assert.False(t, mig.IsUnknown(err))
	assert.Equal(t, mig.UsedUp{Metric: "ACTIVE_RESIZE_REQUESTS", Limit: 100, Region: "us-central1"}, mig.FailedCall(err).Quota)
}

func TestUnfinishedOperationHasAnUnknownOutcome(t *testing.T) {
	tests := map[string]struct {
		wait http.HandlerFunc
		want string
	}{
		"no longer on record": {refusal(404, "notFound", "was not found"), "delete group g: outcome of operation-1 unknown: 404 notFound: was not found"},
		"not to be read":      {refusal(403, "forbidden", "Required permission"), "delete group g: outcome of operation-1 unknown: 403 forbidden: Required permission"},
		"still running":       {ok(running), "delete group g: outcome of operation-1 unknown: context deadline exceeded"},
	}
	for name, test := range tests {
		inBubble(t, name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 10500*time.Millisecond)
			defer cancel()
			err := clientOf(t, inMemory{answers(ok(running), test.wait)}).DeleteGroup(ctx, testRegion, "g")
			failsWith(t, err, mig.CauseUnavailable, test.want)
			assert.True(t, mig.IsUnknown(err))
		})
	}
}

// C20: if another cluster owns the group of that name, the error names the cluster.
func TestExistingGroupErrorNamesItsOwner(t *testing.T) {
	theirs := testStamp
	theirs.Cluster = "beta"
	for description, owner := range map[string]mig.Stamp{theirs.String(): theirs, "by hand": {}} {
		c := clientOf(t, inMemory{answers(refusal(409, "alreadyExists", "it exists"), ok(groupJSON("alpha-a3-job-812", description)))})
		err := c.CreateGroup(t.Context(), testGroup)
		var taken *mig.Error
		require.ErrorAs(t, err, &taken)
		assert.Equal(t, mig.CauseExists, taken.Cause)
		assert.Equal(t, owner, mig.FailedCall(err).Owner)
	}
}

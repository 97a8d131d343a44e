package gce

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"slurmflex/mig"
)

const createdText = "2026-03-01T10:00:00.123-08:00"

var created = time.Date(2026, 3, 1, 18, 0, 0, 123_000_000, time.UTC)

// atPaths answers by the end of a call's path, and with an empty list for any other path.
func atPaths(answers map[string]http.HandlerFunc) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/", aList(`{}`))
	for path, answer := range answers {
		mux.HandleFunc("/compute/v1/projects/p/"+path, answer)
	}
	return mux
}

func groupJSON(name, description string) string {
	return fmt.Sprintf(`{"name":%q,"description":%q,"targetSize":2,"creationTimestamp":%q,"status":{"isStable":true}}`, name, description, createdText)
}

const groupsPath, requestsPath = "regions/us-central1/instanceGroupManagers", "regions/us-central1/instanceGroupManagers/alpha-x/resizeRequests"

// groupsOf returns the groups that Groups reads from the API.
func groupsOf(t *testing.T, api http.Handler) []mig.Group {
	t.Helper()
	groups, err := groupsIn(t, clientOf(t, inMemory{api}))
	require.NoError(t, err)
	return groups
}

func TestOnlyGroupsWithOurStampAreReturned(t *testing.T) {
	beta, newer := testStamp, testStamp
	beta.Cluster, newer.Version = "beta", mig.StampVersion+1
	assert.Equal(t, []mig.Group{
		{Name: "alpha-x", Region: testRegion, Stamp: testStamp, TargetSize: 2, Created: created},
		{Name: "alpha-newer", Region: testRegion, Stamp: mig.Stamp{Version: mig.StampVersion + 1, Cluster: "alpha"}, TargetSize: 2, Created: created},
	}, groupsOf(t, answers(items(groupJSON("alpha-x", testStamp.String()), groupJSON("alpha-beta", beta.String()),
		groupJSON("alpha-newer", newer.String()), groupJSON("alpha-bare", ""), groupJSON("alpha-by-hand", "group of team alpha")), aList(`{}`))))
}

// B6: cluster alpha has a nodeset a3-x, cluster alpha-a3 a nodeset x.
func TestForeignReturnsGroupsLeftBySlurmGCP(t *testing.T) {
	from := func(group, template string) string {
		return strings.Replace(groupJSON(group, ""), "{", `{"versions":[{"instanceTemplate":"https://www.googleapis.com/compute/v1/projects/p/global/instanceTemplates/`+template+`"}],`, 1)
	}
	template := func(cluster string) http.HandlerFunc {
		return ok(`{"name":"t","properties":{"machineType":"a3-highgpu-8g","labels":{"slurm_cluster_name":"` + cluster + `"}}}`)
	}
	api := atPaths(map[string]http.HandlerFunc{
		groupsPath: aList(`{"items":[` + from("alpha-a3-0123abcd", "ours") + `,` +
			from("alpha-a3-job-812-4567cdef", "ours") + `,` +
			from("alpha-a3-x-0123abcd", "theirs") + `,` +
			groupJSON("alpha-a3-x-4567cdef", "") + `,` +
			groupJSON("alpha-a3-job-12345678", testStamp.String()) + `,` +
			groupJSON("alpha-a3-89abcdef", "keep: team alpha") + `,` +
			groupJSON("alpha-a3-mine", "") + `]}`),
		"global/instanceTemplates/ours":                  template("alpha"),
		"global/instanceTemplates/theirs":                template("alpha-a3"),
		groupsPath + "/alpha-a3-0123abcd/resizeRequests": aList(`{"items":[{"name":"initial-resize","state":"ACCEPTED","creationTimestamp":"` + createdText + `"}]}`),
		"regions/europe-west4/instanceGroupManagers":     refusal(403, "forbidden", "no permission"),
	})
	groups, unseen := clientOf(t, inMemory{api}).Foreign(t.Context(), "alpha", []string{testRegion, "europe-west4"})
	require.Len(t, unseen, 1)
	require.EqualError(t, unseen["europe-west4"], "list groups of europe-west4: 403 forbidden: no permission")
	require.Len(t, groups, 2)
	assert.Equal(t, "alpha-a3-0123abcd", groups[0].Name)
	assert.Len(t, groups[0].Live(), 1)
	assert.Equal(t, "alpha-a3-job-812-4567cdef", groups[1].Name)
	for _, g := range groups {
		assert.Zero(t, g.Stamp)
	}
}

func TestResizeRequestIsReadWithSizeAndTrouble(t *testing.T) {
	const waiting = "Waiting for resources. Currently there are not enough resources available to fulfill the request. Expected time is indefinite."
	tests := map[string]struct {
		json string
		want mig.Request
	}{
		"accepted, no attempt yet": {
			`"state":"ACCEPTED","status":{},"instances":[{"name":"n0"},{"name":"n1"}],"requestedRunDuration":{"seconds":"7200"}`,
			mig.Request{State: mig.Accepted, Instances: []string{"n0", "n1"}, Duration: 2 * time.Hour},
		},
		"accepted, the last attempt found a quota used up": {
			`"state":"ACCEPTED","status":{"lastAttempt":{"error":{"errors":[{"code":"QUOTA_EXCEEDED","message":"Quota 'GPUS' exceeded.\nLimit: 16."}]}}}`,
			mig.Request{State: mig.Accepted, Trouble: mig.Trouble{Cause: mig.CauseQuota, Message: "QUOTA_EXCEEDED: Quota 'GPUS' exceeded. Limit: 16.", Quota: mig.UsedUp{Metric: "GPUS", Limit: 16}}},
		},
		"accepted, waiting without an end in sight": {
			`"state":"ACCEPTED","status":{"lastAttempt":{"error":{"errors":[{"code":"ZONE_RESOURCE_POOL_EXHAUSTED_WITH_DETAILS","message":"` + waiting + `","errorDetails":[{"errorInfo":{"metadatas":{"estimatedAvailabilityTime":"9999-12-31T23:59:59.997Z"}}}]}]}}}`,
			mig.Request{State: mig.Accepted, Trouble: mig.Trouble{Cause: mig.CauseCapacity, Message: "ZONE_RESOURCE_POOL_EXHAUSTED_WITH_DETAILS: " + waiting}},
		},
		"accepted, waiting until a date": {
			`"state":"ACCEPTED","status":{"lastAttempt":{"error":{"errors":[{"code":"ZONE_RESOURCE_POOL_EXHAUSTED_WITH_DETAILS","message":"Waiting for resources.","errorDetails":[{"errorInfo":{"metadatas":{"estimatedAvailabilityTime":"2026-03-02T08:00:00Z"}}}]}]}}}`,
			mig.Request{State: mig.Accepted, Trouble: mig.Trouble{Cause: mig.CauseCapacity, Message: "ZONE_RESOURCE_POOL_EXHAUSTED_WITH_DETAILS: Waiting for resources. (estimatedAvailabilityTime=2026-03-02T08:00:00Z)"}},
		},
		"failed": {
			`"state":"FAILED","status":{"error":{"errors":[{"code":"LIMIT_EXCEEDED","message":"out of time"},{"code":"PERMISSIONS_ERROR","message":"no right"}]},"lastAttempt":{"error":{"errors":[{"code":"QUOTA_EXCEEDED","message":"old"}]}}}`,
			mig.Request{State: mig.Failed, Trouble: mig.Trouble{Cause: mig.CausePermission, Message: "LIMIT_EXCEEDED: out of time; PERMISSIONS_ERROR: no right"}},
		},
		"failed without a reason": {
			`"state":"FAILED","status":{}`,
			mig.Request{State: mig.Failed, Trouble: mig.Trouble{Cause: mig.CauseUnknown, Message: "Compute gave no reason"}},
		},
		"succeeded after an attempt that did not": {
			`"state":"SUCCEEDED","status":{"lastAttempt":{"error":{"errors":[{"code":"QUOTA_EXCEEDED","message":"old"}]}}}`,
			mig.Request{State: mig.Succeeded},
		},
		"in a state of the future": {
			`"state":"PROVISIONING","resizeBy":3`,
			mig.Request{State: "PROVISIONING", Count: 3},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			api := atPaths(map[string]http.HandlerFunc{
				groupsPath:   items(groupJSON("alpha-x", testStamp.String())),
				requestsPath: aList(`{"items":[{"name":"a1","creationTimestamp":"` + createdText + `",` + test.json + `}]}`),
			})
			test.want.Name, test.want.Created = "a1", created
			groups := groupsOf(t, api)
			require.Len(t, groups, 1)
			assert.Equal(t, []mig.Request{test.want}, groups[0].Requests)
		})
	}
}

func TestRequestsAreReturnedOldestFirst(t *testing.T) {
	api := atPaths(map[string]http.HandlerFunc{
		groupsPath: items(groupJSON("alpha-x", testStamp.String())),
		requestsPath: aList(`{"items":[
			{"name":"a3","state":"ACCEPTED","creationTimestamp":"2026-03-01T12:00:00-08:00"},
			{"name":"a1","state":"FAILED","creationTimestamp":"2026-03-01T19:00:00Z"},
			{"name":"a2","state":"FAILED","creationTimestamp":"2026-03-01T12:00:00-08:00"}]}`),
	})
	var names []string
	for _, r := range groupsOf(t, api)[0].Requests {
		names = append(names, r.Name)
	}
	assert.Equal(t, []string{"a1", "a2", "a3"}, names)
}

func TestGroupDeletedBetweenListsLeavesRegionSeen(t *testing.T) {
	groups := groupsOf(t, atPaths(map[string]http.HandlerFunc{
		groupsPath:   items(groupJSON("alpha-x", testStamp.String()), groupJSON("alpha-y", testStamp.String())),
		requestsPath: refusal(404, "notFound", "was not found"),
	}))
	require.Len(t, groups, 1)
	assert.Equal(t, "alpha-y", groups[0].Name)
}

func TestMembersShowsLostMembers(t *testing.T) {
	const instances = "https://www.googleapis.com/compute/v1/projects/p/zones/us-central1-a/instances/"
	api := answers(ok(`{"managedInstances":[
		{"instance":"` + instances + `alpha-a3-0","name":"alpha-a3-0","id":"1","instanceStatus":"RUNNING","currentAction":"NONE"},
		{"instance":"` + instances + `alpha-a3-1","currentAction":"NONE"},
		{"name":"alpha-a3-2","currentAction":"CREATING"}]}`))
	members, err := clientOf(t, inMemory{api}).Members(t.Context(), testRegion, "alpha-a3-job-812")
	require.NoError(t, err)
	assert.Equal(t, []mig.Member{
		{Name: "alpha-a3-0", Zone: "us-central1-a", Status: "RUNNING", Action: "NONE"}, {Name: "alpha-a3-1", Zone: "us-central1-a", Action: "NONE"}, {Name: "alpha-a3-2", Action: "CREATING"},
	}, members)
	assert.Equal(t, []bool{false, true, false}, []bool{members[0].Lost(), members[1].Lost(), members[2].Lost()})
	assert.Equal(t, "POST", api.calls[0].method)
	assert.Equal(t, "/compute/v1/projects/p/regions/us-central1/instanceGroupManagers/alpha-a3-job-812/listManagedInstances", api.calls[0].path)

	_, err = clientOf(t, inMemory{answers(ok(`{"managedInstances":[],"nextPageToken":"x"}`))}).Members(t.Context(), testRegion, "alpha-a3-job-812")
	assert.ErrorContains(t, err, "another page")
}

func policyJSON(name, description, distance string) string {
	return fmt.Sprintf(`{"name":%q,"description":%q,"creationTimestamp":%q,"workloadPolicy":{"type":"HIGH_THROUGHPUT"%s}}`,
		name, description, createdText, distance)
}

func TestOnlyWorkloadPoliciesWithOurStampAreReturned(t *testing.T) {
	policies, unseen := clientOf(t, inMemory{items(policyJSON("alpha-x", testStamp.String(), `,"maxTopologyDistance":"BLOCK"`),
		policyJSON("alpha-y", testStamp.String(), ""), policyJSON("alpha-by-hand", "of team alpha", ""))}).Policies(t.Context(), "alpha", []string{testRegion})
	assert.Empty(t, unseen)
	assert.Equal(t, []mig.Policy{
		{Name: "alpha-x", Region: testRegion, Stamp: testStamp, Distance: "BLOCK", Created: created},
		{Name: "alpha-y", Region: testRegion, Stamp: testStamp, Created: created},
	}, policies)
}

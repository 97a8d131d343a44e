package gce

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"slurmflex/mig"
)

const createdText = "2026-03-01T10:00:00.123-08:00"

var created = time.Date(2026, 3, 1, 18, 0, 0, 123_000_000, time.UTC)

// atPaths answers by the end of a call's path, and with an empty list elsewhere.
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

func TestOnlyGroupsThatCarryOurStampAreReturned(t *testing.T) {
	beta, newer := testStamp, testStamp
	beta.Cluster, newer.Version = "beta", mig.StampVersion+1
	api := answers(aList(`{"items":[`+groupJSON("alpha-x", testStamp.String())+`,`+
		groupJSON("alpha-beta", beta.String())+`,`+
		groupJSON("alpha-newer", newer.String())+`,`+
		groupJSON("alpha-bare", "")+`,`+
		groupJSON("alpha-by-hand", "group of team alpha")+`]}`), aList(`{}`))
	groups, unseen := clientOf(t, inMemory{api}).Groups(t.Context(), "alpha", []string{testRegion})
	assert.Empty(t, unseen)
	for i := range groups {
		groups[i].Created = groups[i].Created.UTC()
	}
	assert.Equal(t, []mig.Group{
		{Name: "alpha-x", Region: testRegion, Stamp: testStamp, TargetSize: 2, Created: created},
		{Name: "alpha-newer", Region: testRegion, Stamp: mig.Stamp{Version: mig.StampVersion + 1, Cluster: "alpha"}, TargetSize: 2, Created: created},
	}, groups)

	query, err := url.ParseQuery(api.calls[0].query)
	require.NoError(t, err)
	assert.Equal(t, url.Values{"filter": {`name eq "alpha-.*"`}, "maxResults": {"500"}}, query)
}

func TestAGroupIsReadWithTheNameOfItsWorkloadPolicy(t *testing.T) {
	placed := groupJSON("alpha-x", testStamp.String())
	placed = placed[:len(placed)-1] + `,"resourcePolicies":{"workloadPolicy":"https://www.googleapis.com/compute/v1/projects/p/regions/us-central1/resourcePolicies/alpha-w"}}`
	api := answers(aList(`{"items":[`+placed+`]}`), aList(`{}`))
	groups, unseen := clientOf(t, inMemory{api}).Groups(t.Context(), "alpha", []string{testRegion})
	assert.Empty(t, unseen)
	require.Len(t, groups, 1)
	assert.Equal(t, "alpha-w", groups[0].Policy)
}

func TestAGroupIsReadWithItsTemplateAndItsZones(t *testing.T) {
	const made = `,"versions":[{"instanceTemplate":"https://www.googleapis.com/compute/v1/projects/1234/regions/us-central1/instanceTemplates/a3"}],
		"distributionPolicy":{"zones":[{"zone":"https://www.googleapis.com/compute/v1/projects/p/zones/us-central1-b"},{"zone":"projects/p/zones/us-central1-a"}]}}`
	group := groupJSON("alpha-x", testStamp.String())
	api := answers(aList(`{"items":[`+group[:len(group)-1]+made+`,`+groupJSON("alpha-y", testStamp.String())+`]}`), aList(`{}`), aList(`{}`))
	groups, unseen := clientOf(t, inMemory{api}).Groups(t.Context(), "alpha", []string{testRegion})
	assert.Empty(t, unseen)
	require.Len(t, groups, 2)
	assert.Equal(t, "regions/us-central1/instanceTemplates/a3", groups[0].Template)
	assert.Equal(t, []string{"us-central1-a", "us-central1-b"}, groups[0].Zones)
	assert.Empty(t, groups[1].Template, "not known")
	assert.Nil(t, groups[1].Zones)
}

// B6: cluster alpha has a nodeset a3-x, cluster alpha-a3 a nodeset x.
func TestForeignGroupsAreThoseThatSlurmGCPLeft(t *testing.T) {
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
		"regions/europe-west4/instanceGroupManagers":     refusal(403, "forbidden", "no right"),
	})
	groups, unseen := clientOf(t, inMemory{api}).Foreign(t.Context(), "alpha", []string{testRegion, "europe-west4"})
	require.Len(t, unseen, 1)
	require.EqualError(t, unseen["europe-west4"], "list groups of europe-west4: 403 forbidden: no right")
	require.Len(t, groups, 2)
	assert.Equal(t, "alpha-a3-0123abcd", groups[0].Name)
	assert.Len(t, groups[0].Live(), 1)
	assert.Equal(t, "alpha-a3-job-812-4567cdef", groups[1].Name)
	for _, g := range groups {
		assert.Zero(t, g.Stamp)
	}
}

func TestAResizeRequestSaysWhatItAskedForAndWhatWentWrong(t *testing.T) {
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
			mig.Request{State: mig.Accepted, Cause: mig.CauseQuota, Message: "QUOTA_EXCEEDED: Quota 'GPUS' exceeded. Limit: 16."},
		},
		"accepted, waiting without an end in sight": {
			`"state":"ACCEPTED","status":{"lastAttempt":{"error":{"errors":[{"code":"ZONE_RESOURCE_POOL_EXHAUSTED_WITH_DETAILS","message":"` + waiting + `","errorDetails":[{"errorInfo":{"metadatas":{"estimatedAvailabilityTime":"9999-12-31T23:59:59.997Z"}}}]}]}}}`,
			mig.Request{State: mig.Accepted, Cause: mig.CauseCapacity, Message: "ZONE_RESOURCE_POOL_EXHAUSTED_WITH_DETAILS: " + waiting},
		},
		"accepted, waiting until a date": {
			`"state":"ACCEPTED","status":{"lastAttempt":{"error":{"errors":[{"code":"ZONE_RESOURCE_POOL_EXHAUSTED_WITH_DETAILS","message":"Waiting for resources.","errorDetails":[{"errorInfo":{"metadatas":{"estimatedAvailabilityTime":"2026-03-02T08:00:00Z"}}}]}]}}}`,
			mig.Request{State: mig.Accepted, Cause: mig.CauseCapacity, Message: "ZONE_RESOURCE_POOL_EXHAUSTED_WITH_DETAILS: Waiting for resources. (estimatedAvailabilityTime=2026-03-02T08:00:00Z)"},
		},
		"failed": {
			`"state":"FAILED","status":{"error":{"errors":[{"code":"LIMIT_EXCEEDED","message":"out of time"},{"code":"PERMISSIONS_ERROR","message":"no right"}]},"lastAttempt":{"error":{"errors":[{"code":"QUOTA_EXCEEDED","message":"old"}]}}}`,
			mig.Request{State: mig.Failed, Cause: mig.CausePermission, Message: "LIMIT_EXCEEDED: out of time; PERMISSIONS_ERROR: no right"},
		},
		"failed without a reason": {
			`"state":"FAILED","status":{}`,
			mig.Request{State: mig.Failed, Cause: mig.CauseUnknown, Message: "Compute gave no reason"},
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
				groupsPath:   aList(`{"items":[` + groupJSON("alpha-x", testStamp.String()) + `]}`),
				requestsPath: aList(`{"items":[{"name":"a1","creationTimestamp":"` + createdText + `",` + test.json + `}]}`),
			})
			groups, unseen := clientOf(t, inMemory{api}).Groups(t.Context(), "alpha", []string{testRegion})
			require.Empty(t, unseen)
			require.Len(t, groups, 1)
			require.Len(t, groups[0].Requests, 1)
			got := groups[0].Requests[0]
			got.Created = got.Created.UTC()
			test.want.Name, test.want.Created = "a1", created
			assert.Equal(t, test.want, got)
		})
	}
}

func TestRequestsAreReturnedTheOldestFirst(t *testing.T) {
	api := atPaths(map[string]http.HandlerFunc{
		groupsPath: aList(`{"items":[` + groupJSON("alpha-x", testStamp.String()) + `]}`),
		requestsPath: aList(`{"items":[
			{"name":"a3","state":"ACCEPTED","creationTimestamp":"2026-03-01T12:00:00-08:00"},
			{"name":"a1","state":"FAILED","creationTimestamp":"2026-03-01T19:00:00Z"},
			{"name":"a2","state":"FAILED","creationTimestamp":"2026-03-01T12:00:00-08:00"}]}`),
	})
	groups, _ := clientOf(t, inMemory{api}).Groups(t.Context(), "alpha", []string{testRegion})
	require.Len(t, groups, 1)
	var names []string
	for _, r := range groups[0].Requests {
		names = append(names, r.Name)
	}
	assert.Equal(t, []string{"a1", "a2", "a3"}, names)
}

func TestARegionThatCannotBeReadWhollyIsUnseen(t *testing.T) {
	const europe = "regions/europe-west4/instanceGroupManagers"
	group := aList(`{"items":[` + groupJSON("alpha-x", testStamp.String()) + `]}`)
	tests := map[string]struct {
		answers map[string]http.HandlerFunc
		want    string
	}{
		"its groups are refused": {
			map[string]http.HandlerFunc{groupsPath: refusal(403, "forbidden", "no right")},
			"list groups of us-central1: 403 forbidden: no right",
		},
		"the requests of one group are refused": {
			map[string]http.HandlerFunc{groupsPath: group, requestsPath: refusal(403, "forbidden", "no right")},
			"list resize requests of alpha-x: 403 forbidden: no right",
		},
		"its list warns": {
			map[string]http.HandlerFunc{groupsPath: aList(`{"items":[],"warning":{"code":"UNREACHABLE","message":"zone c is down"}}`)},
			"list groups of us-central1: incomplete answer: UNREACHABLE: zone c is down",
		},
		"a list of requests names what it could not reach": {
			map[string]http.HandlerFunc{groupsPath: group, requestsPath: aList(`{"unreachables":["zones/us-central1-c"]}`)},
			"list resize requests of alpha-x: incomplete answer: unreachable: zones/us-central1-c",
		},
		"a second page is refused": {
			map[string]http.HandlerFunc{groupsPath: func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Query().Get("pageToken") == "" {
					aList(`{"items":[`+groupJSON("alpha-x", testStamp.String())+`],"nextPageToken":"t"}`)(w, r)
					return
				}
				refusal(403, "forbidden", "no right")(w, r)
			}},
			"list groups of us-central1: 403 forbidden: no right",
		},
		"its pages go around in a circle": {
			map[string]http.HandlerFunc{groupsPath: aList(`{"items":[],"nextPageToken":"t"}`)},
			`list groups of us-central1: the list does not end: page token "t" came before`,
		},
		"a group's name is missing": {
			map[string]http.HandlerFunc{groupsPath: aList(`{"items":[{"targetSize":0,"description":` + quoted(testStamp.String()) + `}]}`)},
			"list groups of us-central1: answer not understood: a record without a name",
		},
		"nobody can say whose a group is, nor what was requested in it": {
			map[string]http.HandlerFunc{
				groupsPath:   aList(`{"items":[` + groupJSON("alpha-x", `{"slurmflex":1`) + `]}`),
				requestsPath: aList(`{"items":[{"name":"a1","creationTimestamp":"` + createdText + `"}]}`),
			},
			"list resize requests of alpha-x: resize request a1: state: it is missing",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			test.answers[europe] = aList(`{"items":[` + groupJSON("alpha-europe", testStamp.String()) + `]}`)
			c := clientOf(t, inMemory{atPaths(test.answers)})
			groups, unseen := c.Groups(t.Context(), "alpha", []string{testRegion, "europe-west4", testRegion})
			require.Len(t, unseen, 1)
			require.EqualError(t, unseen[testRegion], test.want)
			require.Len(t, groups, 1, "the other region's group, once")
			assert.Equal(t, "alpha-europe", groups[0].Name)
		})
	}
}

func TestAGroupDeletedBetweenTwoListsIsGoneAndItsRegionIsSeen(t *testing.T) {
	api := atPaths(map[string]http.HandlerFunc{
		groupsPath:   aList(`{"items":[` + groupJSON("alpha-x", testStamp.String()) + `,` + groupJSON("alpha-y", testStamp.String()) + `]}`),
		requestsPath: refusal(404, "notFound", "was not found"),
	})
	groups, unseen := clientOf(t, inMemory{api}).Groups(t.Context(), "alpha", []string{testRegion})
	assert.Empty(t, unseen)
	require.Len(t, groups, 1)
	assert.Equal(t, "alpha-y", groups[0].Name)
}

func TestTheRequestsOfGroupsAreReadSideBySide(t *testing.T) {
	slow := func(w http.ResponseWriter, r *http.Request) {
		time.Sleep(time.Second)
		aList(`{}`)(w, r)
	}
	items := groupJSON("alpha-x", testStamp.String())
	answers := map[string]http.HandlerFunc{}
	for i := range sideBySide {
		name := fmt.Sprintf("alpha-%d", i)
		if i > 0 {
			items += "," + groupJSON(name, testStamp.String())
		}
		answers[groupsPath+"/"+name+"/resizeRequests"] = slow
	}
	answers[groupsPath], answers[requestsPath] = aList(`{"items":[`+items+`]}`), slow
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		groups, unseen := clientOf(t, inMemory{atPaths(answers)}).Groups(t.Context(), "alpha", []string{testRegion})
		assert.Empty(t, unseen)
		assert.Len(t, groups, sideBySide)
		assert.Equal(t, time.Second, time.Since(start))
	})
}

func quoted(s string) string {
	b, err := json.Marshal(s)
	if err != nil {
		return err.Error()
	}
	return string(b)
}

func TestAGroupSaysWhichMembersItHasLost(t *testing.T) {
	const instances = "https://www.googleapis.com/compute/v1/projects/p/zones/us-central1-a/instances/"
	api := answers(ok(`{"managedInstances":[
		{"instance":"` + instances + `alpha-a3-0","name":"alpha-a3-0","id":"1","instanceStatus":"RUNNING","currentAction":"NONE"},
		{"instance":"` + instances + `alpha-a3-1","currentAction":"NONE"},
		{"name":"alpha-a3-2","currentAction":"CREATING"}]}`))
	members, err := clientOf(t, inMemory{api}).Members(t.Context(), testRegion, "alpha-a3-job-812")
	require.NoError(t, err)
	assert.Equal(t, []mig.Member{
		{Name: "alpha-a3-0", Status: "RUNNING", Action: "NONE"}, {Name: "alpha-a3-1", Action: "NONE"}, {Name: "alpha-a3-2", Action: "CREATING"},
	}, members)
	assert.Equal(t, []bool{false, true, false}, []bool{members[0].Lost(), members[1].Lost(), members[2].Lost()})
	assert.Equal(t, "POST", api.calls[0].method)
	assert.Equal(t, "/compute/v1/projects/p/regions/us-central1/instanceGroupManagers/alpha-a3-job-812/listManagedInstances", api.calls[0].path)
}

func TestAPartOfAGroupsMembersIsNotAllOfThem(t *testing.T) {
	client := clientOf(t, inMemory{answers(ok(`{"managedInstances":[{"name":"alpha-a3-0","currentAction":"NONE"}],"nextPageToken":"x"}`))})
	_, err := client.Members(t.Context(), testRegion, "alpha-a3-job-812")
	assert.ErrorContains(t, err, "another page")
}

func policyJSON(name, description, distance string) string {
	return fmt.Sprintf(`{"name":%q,"description":%q,"creationTimestamp":%q,"workloadPolicy":{"type":"HIGH_THROUGHPUT"%s}}`,
		name, description, createdText, distance)
}

const policiesPath = "regions/us-central1/resourcePolicies"

func TestOnlyWorkloadPoliciesThatCarryOurStampAreReturned(t *testing.T) {
	beta, newer := testStamp, testStamp
	beta.Cluster, newer.Version = "beta", mig.StampVersion+1
	api := answers(aList(`{"items":[` + policyJSON("alpha-x", testStamp.String(), `,"maxTopologyDistance":"BLOCK"`) + `,` +
		policyJSON("alpha-y", testStamp.String(), "") + `,` +
		policyJSON("alpha-beta", beta.String(), "") + `,` +
		policyJSON("alpha-newer", newer.String(), "") + `,` +
		policyJSON("alpha-by-hand", "of team alpha", "") + `]}`))
	policies, unseen := clientOf(t, inMemory{api}).Policies(t.Context(), "alpha", []string{testRegion})
	assert.Empty(t, unseen)
	for i := range policies {
		policies[i].Created = policies[i].Created.UTC()
	}
	assert.Equal(t, []mig.Policy{
		{Name: "alpha-x", Region: testRegion, Stamp: testStamp, Distance: "BLOCK", Created: created},
		{Name: "alpha-y", Region: testRegion, Stamp: testStamp, Created: created},
	}, policies)

	require.Len(t, api.calls, 1)
	assert.Equal(t, "/compute/v1/projects/p/"+policiesPath, api.calls[0].path)
	query, err := url.ParseQuery(api.calls[0].query)
	require.NoError(t, err)
	assert.Equal(t, url.Values{"filter": {`name eq "alpha-.*"`}, "maxResults": {"500"}}, query)
}

func TestARegionWhosePoliciesCannotAllBeReadIsUnseen(t *testing.T) {
	for name, test := range map[string]struct {
		answer http.HandlerFunc
		want   string
	}{
		"they are refused":      {refusal(403, "forbidden", "no right"), "403 forbidden: no right"},
		"their list warns":      {aList(`{"warning":{"code":"UNREACHABLE","message":"down"}}`), "incomplete answer: UNREACHABLE: down"},
		"one's name is missing": {aList(`{"items":[{"description":` + quoted(testStamp.String()) + `}]}`), "answer not understood: a record without a name"},
	} {
		t.Run(name, func(t *testing.T) {
			api := atPaths(map[string]http.HandlerFunc{
				policiesPath:                            test.answer,
				"regions/europe-west4/resourcePolicies": aList(`{"items":[` + policyJSON("alpha-europe", testStamp.String(), "") + `]}`),
			})
			policies, unseen := clientOf(t, inMemory{api}).Policies(t.Context(), "alpha", []string{testRegion, "europe-west4"})
			require.Len(t, unseen, 1)
			require.ErrorContains(t, unseen[testRegion], "list workload policies of us-central1: "+test.want)
			require.Len(t, policies, 1)
			assert.Equal(t, "alpha-europe", policies[0].Name)
		})
	}
}

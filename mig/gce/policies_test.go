package gce

import (
	"fmt"
	"net/http"
	"net/url"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"slurmflex/mig"
)

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

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

const madeBy = "projects/1234567/regions/us-central1/instanceGroupManagers/alpha-a3-job-812"

func instanceJSON(name, more string) string {
	return fmt.Sprintf(`{"name":%q,"status":"RUNNING","creationTimestamp":%q%s}`, name, createdText, more)
}

func createdBy(path string) string {
	return `,"metadata":{"items":[{"key":"startup-script","value":"#!/bin/sh"},{"key":"created-by","value":"` + path + `"}]}`
}

// listed returns the result of Instances for one page, with times in UTC.
func listed(t *testing.T, page string, regions ...string) ([]mig.Instance, map[string]error) {
	t.Helper()
	api := atPaths(map[string]http.HandlerFunc{"aggregated/instances": aList(page)})
	instances, unseen := clientOf(t, inMemory{api}).Instances(t.Context(), "alpha", regions)
	for i := range instances {
		instances[i].Created, instances[i].Terminates = instances[i].Created.UTC(), instances[i].Terminates.UTC()
	}
	return instances, unseen
}

func TestInstanceIsReadWithGroupLeaseAndModel(t *testing.T) {
	instances, unseen := listed(t, `{"items":{
		"zones/us-central1-b":{"instances":[`+instanceJSON("alpha-a3-1", createdBy(madeBy)+
		`,"scheduling":{"provisioningModel":"FLEX_START"},"resourceStatus":{"scheduling":{"terminationTimestamp":"2026-03-01T20:00:00Z"}}`)+`]},
		"zones/us-central1-a":{"instances":[`+instanceJSON("alpha-a3-0", `,"scheduling":{"provisioningModel":"STANDARD"}`)+`]},
		"zones/us-central1-c":{"warning":{"code":"NO_RESULTS_ON_PAGE","message":"There are no results"}},
		"zones/us-central1-f":{"instances":[`+instanceJSON("alphabet-0", "")+`]},
		"zones/europe-west4-a":{"instances":[`+instanceJSON("alpha-a3-2", "")+`]}}}`, testRegion)
	assert.Empty(t, unseen)
	assert.Equal(t, []mig.Instance{
		{Name: "alpha-a3-0", Zone: "us-central1-a", Region: testRegion, Status: "RUNNING", Created: created, Model: mig.Standard},
		{
			Name: "alpha-a3-1", Zone: "us-central1-b", Region: testRegion, Status: "RUNNING", Created: created,
			Group: "alpha-a3-job-812", Terminates: time.Date(2026, 3, 1, 20, 0, 0, 0, time.UTC), Model: mig.FlexStart,
		},
	}, instances, "a name of another cluster does not count even if it is listed, nor does another region's")
}

// listedOne returns the result of Instances for alpha-a3-0 with these additional fields.
func listedOne(t *testing.T, more string) mig.Instance {
	t.Helper()
	instances, unseen := listed(t, `{"items":{"zones/us-central1-a":{"instances":[`+instanceJSON("alpha-a3-0", more)+`]}}}`, testRegion)
	require.Empty(t, unseen)
	require.Len(t, instances, 1)
	return instances[0]
}

// A5: an end in 9999 became a reservation that Slurm could not print.
func TestImpossibleLeaseEndIsUnknown(t *testing.T) {
	for end, known := range map[string]bool{
		"9999-12-31T23:59:59Z": false, "1970-01-01T00:00:00Z": false,
		created.Add(-time.Second).Format(time.RFC3339):                               false,
		created.Add(mig.MaxDuration + startDelay + time.Second).Format(time.RFC3339): false,
		created.Add(mig.MaxDuration + startDelay).Format(time.RFC3339):               true,
		created.Add(time.Minute).Format(time.RFC3339):                                true,
	} {
		in := listedOne(t, `,"scheduling":{"provisioningModel":"FLEX_START"},"resourceStatus":{"scheduling":{"terminationTimestamp":"`+end+`"}}`)
		assert.Equal(t, known, !in.Terminates.IsZero(), end)
	}
}

func TestMaintenanceWithinTheLeaseIsRead(t *testing.T) {
	for begins, known := range map[string]bool{
		"9999-12-31T23:59:59Z": false, "soon": false, "": false,
		created.Add(-time.Second).Format(time.RFC3339): false,
		created.Add(time.Hour).Format(time.RFC3339):    true,
	} {
		in := listedOne(t, `,"resourceStatus":{"upcomingMaintenance":{"type":"SCHEDULED","maintenanceStatus":"PENDING","canReschedule":false,"windowStartTime":"`+begins+`"}}`)
		assert.Equal(t, known, !in.Maintained.IsZero(), begins)
		assert.Empty(t, in.Unread)
	}
}

func TestMaintenanceAndEndOfAnInstanceWithoutALongestLeaseAreRead(t *testing.T) {
	for _, model := range []string{mig.Spot, mig.Standard, mig.FlexStart} {
		for at, known := range map[string]bool{
			"9999-12-31T23:59:59Z": false, "9999-12-31T23:59:59-08:00": false,
			created.Add(-time.Second).Format(time.RFC3339):         false,
			created.Add(100 * 24 * time.Hour).Format(time.RFC3339): model != mig.FlexStart,
			created.Add(mig.MaxDuration).Format(time.RFC3339):      true,
		} {
			in := listedOne(t, `,"scheduling":{"provisioningModel":"`+model+`"},
				"resourceStatus":{"scheduling":{"terminationTimestamp":"`+at+`"},"upcomingMaintenance":{"windowStartTime":"`+at+`"}}`)
			assert.Equal(t, known, !in.Maintained.IsZero(), "%s %s", model, at)
			assert.Equal(t, known, !in.Terminates.IsZero(), "%s %s", model, at)
		}
	}
}

func TestInstanceWaitingForCapacityIsOmitted(t *testing.T) {
	pending := func(name, more string) string {
		return strings.Replace(instanceJSON(name, more), "RUNNING", "PENDING", 1)
	}
	instances, unseen := listed(t, `{"items":{"zones/us-central1-a":{"instances":[`+
		pending("alpha-a3-0", createdBy(madeBy))+`,`+pending("alpha-a3-1", "")+`]}}}`, testRegion)
	assert.Empty(t, unseen)
	assert.Equal(t, []string{"alpha-a3-1"}, mig.Names(instances), "no request explains a machine without a group")
}

func TestOnlyRegionalGroupOfTheSameRegionIsAnInstancesGroup(t *testing.T) {
	for path, want := range map[string]string{
		madeBy: "alpha-a3-job-812",
		"projects/1234567/zones/us-central1-a/instanceGroupManagers/g":         "",
		"projects/1234567/regions/europe-west4/instanceGroupManagers/g":        "",
		"projects/1234567/regions/us-central1/instanceGroups/g":                "",
		"projects/1234567/regions/us-central1/instanceGroupManagers/g/x":       "",
		"https://x/projects/1234567/regions/us-central1/instanceGroupManagers": "",
		"alpha-a3-job-812": "",
		"":                 "",
	} {
		assert.Equal(t, want, listedOne(t, createdBy(path)).Group, path)
	}
}

func TestOnlyGrouplessInstancesOfTheClusterHaveStamps(t *testing.T) {
	const labels = `,"labels":{"slurmflex-cluster":"alpha","slurmflex-nodeset":"a3","slurmflex-job":"812"}`
	for name, test := range map[string]struct {
		more string
		want mig.Stamp
	}{
		"ours":                 {labels, testStamp},
		"made by a group":      {labels + createdBy(madeBy), mig.Stamp{}},
		"of another cluster":   {`,"labels":{"slurmflex-cluster":"alpha-a3","slurmflex-nodeset":"a3"}`, mig.Stamp{}},
		"of another program":   {`,"labels":{"team":"ml"}`, mig.Stamp{}},
		"without labels":       {"", mig.Stamp{}},
		"of a successor":       {`,"labels":{"slurmflex-version":"2","slurmflex-cluster":"alpha","slurmflex-nodeset":"a3"}`, mig.Stamp{}},
		"with a stamp cut off": {`,"labels":{"slurmflex-cluster":"alpha"}`, mig.Stamp{}},
	} {
		assert.Equal(t, test.want, listedOne(t, test.more).Stamp, name)
	}
}

func TestRegionWithIncompleteInstanceListIsUnseen(t *testing.T) {
	const both = "both regions"
	for name, test := range map[string]struct {
		in, beside string // the list's items besides one per region, and its fields beside the items
		unseen     string
		want       string
	}{
		"a zone cannot be reached": {
			`,"zones/us-central1-b":{"warning":{"code":"UNREACHABLE","message":"down"}}`, "", testRegion, "incomplete answer: UNREACHABLE: down",
		},
		"a zone lists its instances with a warning": {
			`,"zones/us-central1-b":{"instances":[],"warning":{"code":"PARTIAL_SUCCESS","message":"some"}}`, "",
			testRegion, "zone us-central1-b: incomplete answer: PARTIAL_SUCCESS: some",
		},
		"an instance has no name": {
			`,"zones/us-central1-b":{"instances":[{"status":"RUNNING"}]}`, "",
			testRegion, "zone us-central1-b: answer not understood: a record without a name",
		},
		"the list names a zone that it could not reach": {
			"", `,"unreachables":["projects/p/zones/us-central1-b"]`, testRegion, "incomplete answer: unreachable: projects/p/zones/us-central1-b",
		},
		"the list names a region that it could not reach": {
			"", `,"unreachables":["projects/p/regions/us-central1"]`, testRegion, "incomplete answer: unreachable: projects/p/regions/us-central1",
		},
		"the list names something that it could not reach": {"", `,"unreachables":["cell-7"]`, both, "incomplete answer: unreachable: cell-7"},
		"the whole list warns": {
			"", `,"warning":{"code":"LIST_OVERHEAD_QUOTA_EXCEED","message":"filtered"}`, both, "incomplete answer: LIST_OVERHEAD_QUOTA_EXCEED: filtered",
		},
		"the list has another shape": {`,"alpha-a3-0":{}`, "", both, `answer not understood: instances in "alpha-a3-0", not a zone`},
	} {
		t.Run(name, func(t *testing.T) {
			instances, unseen := listed(t, `{"items":{"zones/us-central1-a":{"instances":[`+instanceJSON("alpha-a3-0", "")+`]},
				"zones/europe-west4-a":{"instances":[`+instanceJSON("alpha-a3-1", "")+`]}`+test.in+`}`+test.beside+`}`, "europe-west4", testRegion)
			require.ErrorContains(t, unseen[testRegion], "list instances of us-central1: ")
			require.ErrorContains(t, unseen[testRegion], test.want)
			if test.unseen == both {
				require.ErrorContains(t, unseen["europe-west4"], "list instances of europe-west4: "+test.want)
				assert.Empty(t, instances)
			} else {
				assert.Len(t, unseen, 1)
				assert.Equal(t, []string{"alpha-a3-1"}, mig.Names(instances))
			}
		})
	}
}

func TestWarningOnALaterPageCounts(t *testing.T) {
	api := answers(
		aList(`{"items":{"zones/us-central1-a":{"instances":[`+instanceJSON("alpha-a3-0", "")+`]}},"nextPageToken":"t"}`),
		aList(`{"unreachables":["zones/us-central1-b"],"nextPageToken":"u"}`),
		aList(`{"items":{}}`))
	instances, unseen := clientOf(t, inMemory{api}).Instances(t.Context(), "alpha", []string{testRegion})
	assert.Empty(t, instances)
	assert.EqualError(t, unseen[testRegion], "list instances of us-central1: incomplete answer: unreachable: zones/us-central1-b")
	assert.Len(t, api.calls, 3)
}

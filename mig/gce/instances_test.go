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

// zone is the zone of a listed instance.
const zone = "us-central1-a"

// listed returns the result of Instances for a zone that lists these instances.
func listed(t *testing.T, instances ...string) ([]mig.Instance, map[string]error) {
	t.Helper()
	api := atPaths(map[string]http.HandlerFunc{"zones/" + zone + "/instances": items(instances...)})
	return clientOf(t, inMemory{api}).Instances(t.Context(), "alpha", []string{testRegion}, zone)
}

// listedOne returns the result of Instances for alpha-a3-0 with these additional fields.
func listedOne(t *testing.T, more string) mig.Instance {
	t.Helper()
	instances, unseen := listed(t, instanceJSON("alpha-a3-0", more))
	require.Empty(t, unseen)
	require.Len(t, instances, 1)
	return instances[0]
}

// A5: an end in 9999 became a reservation that Slurm could not print. Only flex-start has a longest
// lease.
func TestImpossibleLeaseEndIsUnknown(t *testing.T) {
	for _, model := range []string{mig.Spot, mig.Standard, mig.FlexStart} {
		for at, known := range map[string]bool{
			"9999-12-31T23:59:59-08:00":                                                  false,
			created.Add(-time.Second).Format(time.RFC3339):                               false,
			created.Add(mig.MaxDuration + startDelay + time.Second).Format(time.RFC3339): model != mig.FlexStart,
			created.Add(mig.MaxDuration + startDelay).Format(time.RFC3339):               true,
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
	instances, unseen := listed(t, pending("alpha-a3-0", createdBy(madeBy)), pending("alpha-a3-1", ""))
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

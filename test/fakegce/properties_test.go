package fakegce

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestWhatATemplateMayNotBeIsRefused(t *testing.T) {
	w := newWorld(t, Options{})
	long := strings.Repeat("x", maxMetadata)
	var labels []string
	for i := range maxLabels + 1 {
		labels = append(labels, fmt.Sprintf(`"l%d":""`, i))
	}
	const nic, disk = `"networkInterfaces":[{}]`, `"disks":[{"boot":true}]`
	for name, c := range map[string]struct{ description, properties, says string }{
		"without disks":              {"", nic, "No disks are specified"},
		"without networks":           {"", disk, "At least one network interface is required"},
		"a description too long":     {strings.Repeat("x", maxDescription+1), bootable, "at most 2048 characters"},
		"a label in capitals":        {"", bootable + `,"labels":{"Owner":"me"}`, "'Owner'"},
		"a label's value in capital": {"", bootable + `,"labels":{"owner":"Me"}`, "'Me'"},
		"a label's value too long":   {"", bootable + `,"labels":{"owner":"` + strings.Repeat("m", 64) + `"}`, "at most 63"},
		"too many labels":            {"", bootable + `,"labels":{` + strings.Join(labels, ",") + `}`, "It has 65 labels, and may have 64"},
		"a key with a dot":           {"", bootable + `,"metadata":{"items":[{"key":"a.b","value":""}]}`, "'a.b'"},
		"a key twice":                {"", bootable + `,"metadata":{"items":[{"key":"a","value":""},{"key":"a","value":""}]}`, "given twice"},
		"a value too large":          {"", bootable + `,"metadata":{"items":[{"key":"a","value":"` + long + `x"}]}`, "maximum size 262144 bytes; actual size 262145"},
		"metadata too large": {
			"", bootable + `,"metadata":{"items":[{"key":"a","value":"` + long + `"},{"key":"b","value":"` + long + `"}]}`,
			"maximum size 524288 bytes; actual size 524290",
		},
		"a negative duration": {"", bootable + `,"scheduling":{"maxRunDuration":{"seconds":"-1"}}`, "not a duration"},
		"too many nanos":      {"", bootable + `,"scheduling":{"maxRunDuration":{"seconds":"600","nanos":1000000000}}`, "not a duration"},
		"an unknown model":    {"", bootable + `,"scheduling":{"provisioningModel":"FLEX"}`, "Must be one of: FLEX_START RESERVATION_BOUND SPOT STANDARD"},
		"an unknown mode":     {"", nic + `,"disks":[{"mode":"READ"}]`, "Must be one of: READ_ONLY READ_WRITE"},
	} {
		t.Run(name, func(t *testing.T) {
			body := fmt.Sprintf(`{"name":"t","description":%q,"properties":{"machineType":"g2-standard-4",%s}}`, c.description, c.properties)
			status, answer := w.send(http.MethodPost, "/compute/v1/projects/demo/global/instanceTemplates", body)
			assert.Equal(t, http.StatusBadRequest, status)
			assert.Contains(t, answer, c.says)
		})
	}
}

func TestWhatIsJustWithinTheLimitsIsTaken(t *testing.T) {
	w := newWorld(t, Options{})
	w.post("global/instanceTemplates", fmt.Sprintf(`{"name":"t","description":%q,"properties":{"machineType":"g2-standard-4",%s,
		"labels":{"slurm_cluster-1":"größe_2"},"metadata":{"items":[{"key":"a-B_9","value":%q}]}}}`,
		strings.Repeat("ä", maxDescription), bootable, strings.Repeat("x", maxMetadata)))
	_, body := w.ask(http.MethodGet, "global/instanceTemplates/t", "")
	for _, kind := range []string{"compute#metadata", "compute#attachedDisk", "compute#networkInterface"} {
		assert.Contains(t, body, kind)
	}
}

func TestWhatAllInstancesOfAGroupAreToHaveKeepsToTheLimits(t *testing.T) {
	w := newWorld(t, Options{})
	for properties, says := range map[string]string{
		`{"labels":{"BAD KEY!":"x"}}`:                                     "'resource.allInstancesConfig.properties.labels': 'BAD KEY!'",
		`{"labels":{"owner":"Me"}}`:                                       "'Me'. A label's value has",
		`{"metadata":{"BAD KEY!":"x"}}`:                                   "'resource.allInstancesConfig.properties.metadata': 'BAD KEY!'",
		`{"metadata":{"a":"` + strings.Repeat("x", maxMetadata+1) + `"}}`: "maximum size 262144 bytes",
		`{"labels":{"owner":"me"},"metadata":{"a":"b"}}`:                  "",
	} {
		status, answer := w.ask(http.MethodPost, groupList, changed(t, plainGroup, `{"allInstancesConfig":{"properties":`+properties+`}}`))
		assert.Equal(t, says == "", status == http.StatusOK, answer)
		assert.Contains(t, answer, says)
	}
}

func TestADescriptionTooLongIsRefusedEverywhere(t *testing.T) {
	w := newWorld(t, Options{})
	w.givenGroup("m")
	long := strings.Repeat("x", maxDescription+1)
	for path, body := range map[string]string{
		groupList:                              `{"name":"g","description":%q,"targetSize":0,"versions":[{"instanceTemplate":"regions/us-central1/instanceTemplates/a3"}]}`,
		"regions/us-central1/resourcePolicies": `{"name":"p","description":%q,"workloadPolicy":{"type":"HIGH_THROUGHPUT"}}`,
		groupList + "/m/resizeRequests":        `{"name":"r","description":%q,"resizeBy":1}`,
	} {
		status, answer := w.ask(http.MethodPost, path, fmt.Sprintf(body, long))
		assert.Equal(t, http.StatusBadRequest, status, path)
		assert.Contains(t, answer, "resource.description", path)
	}
}

func TestARequestForNoTimeIsRefused(t *testing.T) {
	w := newWorld(t, Options{})
	w.givenGroup("m")
	w.post(groupList+"/m/resizeRequests", `{"name":"zero","resizeBy":1,"requestedRunDuration":{"seconds":"0"}}`)
	g, _ := w.State().Group("m")
	assert.Contains(t, g.Requests[0].Error, "too short")
	status, answer := w.ask(http.MethodPost, groupList+"/m/resizeRequests", `{"name":"nanos","resizeBy":1,"requestedRunDuration":{"seconds":"600","nanos":-1}}`)
	assert.Equal(t, http.StatusBadRequest, status)
	assert.Contains(t, answer, "nanos")
}

func TestARequestForAFractionOfASecondIsRefused(t *testing.T) {
	w := newWorld(t, Options{})
	w.givenGroup("m")
	status, answer := w.ask(http.MethodPost, groupList+"/m/resizeRequests", `{"name":"r","resizeBy":1,"requestedRunDuration":{"seconds":"600","nanos":500000000}}`)
	assert.Equal(t, http.StatusBadRequest, status)
	assert.Contains(t, answer, "'resource.requestedRunDuration.nanos': '500000000'. Must be 0: a machine runs for whole seconds.")
	w.post(groupList+"/m/resizeRequests", `{"name":"r","resizeBy":1,"requestedRunDuration":{"seconds":"600","nanos":0}}`)
}

func TestTheNameOfAVersionIsKept(t *testing.T) {
	w := newWorld(t, Options{})
	w.post(groupList, `{"name":"g","targetSize":0,"versions":[{"name":"first","instanceTemplate":"regions/us-central1/instanceTemplates/a3"}]}`)
	_, body := w.ask(http.MethodGet, groupList+"/g?fields=versions/name", "")
	require.JSONEq(t, `{"versions":[{"name":"first"}]}`, body)
}

package main

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"slurmflex/flex/view"
	"slurmflex/test/fakegce"
)

func TestStatusShowsTheQuotas(t *testing.T) {
	w := newWorld(t)
	require.NoError(t, w.cloud.SetQuota("us-central1", "PREEMPTIBLE_NVIDIA_H100_GPUS", 24))
	w.waiting(t)
	w.flex(t, "sync").exits(t, exitDone)
	r := w.flex(t, "status").exits(t, exitDone)
	assert.Contains(t, r.stdout.String(), `
region us-central1: 0 of 100 active requests
  a3-highgpu GPUs (PREEMPTIBLE_NVIDIA_H100_GPUS): 16 used, 0 requested, 24 allowed
  tightest quota: PREEMPTIBLE_NVIDIA_H100_GPUS, 16 of 24 used
`)
}

func TestStatusShowsTheRestWithoutTheQuotas(t *testing.T) {
	w := newWorld(t)
	require.NoError(t, w.cloud.AddFault(fakegce.Fault{Method: "regions.get", Status: 403, Reason: "forbidden", Message: "Required 'compute.regions.get' permission"}))
	r := w.flex(t, "status").exits(t, exitDone)
	assert.Regexp(t, `\nregion us-central1: 0 of 100 active requests\n  quotas could not be read: read region us-central1: 403 forbidden: .*compute.regions.get.*\n$`, r.stdout.String())
	assert.Empty(t, r.stderr.String())
}

func TestQuotasAreInTheJSONOfStatus(t *testing.T) {
	w := newWorld(t)
	var v view.View
	require.NoError(t, json.Unmarshal(w.flex(t, "status", "--json").exits(t, exitDone).stdout.Bytes(), &v))
	require.Len(t, v.Regions[0].GPUs, 1)
	assert.Equal(t, []string{"a3-highgpu"}, v.Regions[0].GPUs[0].Families)
	assert.NotNil(t, v.Regions[0].Tightest)
}

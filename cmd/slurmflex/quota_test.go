package main

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"slurmflex/flex/view"
	"slurmflex/mig"
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

func TestTheDaemonReadsQuotasEveryFiveMinutesBesideThePasses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		calls, noted := 0, []mig.Quota(nil)
		answer := error(nil)
		q := &quotas{
			region: func(_ context.Context, name string) (mig.Region, error) {
				calls++
				time.Sleep(time.Second)
				return mig.Region{Name: name, Quotas: []mig.Quota{{Metric: "INSTANCE_GROUPS", Limit: 150, Usage: float64(calls)}}}, answer
			},
			note: func(_ string, quotas []mig.Quota) { noted = quotas },
		}
		pass := func() view.Region {
			v := view.View{SeenAt: time.Now(), Regions: []view.Region{{Name: "us-central1"}}}
			q.fill(t.Context(), &v)
			return v.Regions[0]
		}
		assert.Nil(t, pass().Tightest, "no pass waits for it")
		time.Sleep(2 * time.Second)
		assert.Equal(t, &view.QuotaUsage{Quota: "INSTANCE_GROUPS", Used: 1, Allowed: 150}, pass().Tightest)
		assert.Len(t, noted, 1)
		time.Sleep(quotaAge - 3*time.Second)
		pass()
		assert.Equal(t, 1, calls)
		time.Sleep(time.Second)
		answer = errors.New("503")
		assert.Equal(t, 1, pass().Tightest.Used, "the old ones until the new ones are read")
		time.Sleep(2 * time.Second)
		r := pass()
		assert.Equal(t, 2, calls)
		assert.Nil(t, r.Tightest)
		assert.Equal(t, "503", r.QuotaFail)
		assert.Empty(t, noted)
	})
}

func TestQuotasAreInTheJSONOfStatus(t *testing.T) {
	w := newWorld(t)
	var v view.View
	require.NoError(t, json.Unmarshal(w.flex(t, "status", "--json").exits(t, exitDone).stdout.Bytes(), &v))
	require.Len(t, v.Regions[0].GPUs, 1)
	assert.Equal(t, []string{"a3-highgpu"}, v.Regions[0].GPUs[0].Families)
	assert.NotNil(t, v.Regions[0].Tightest)
}

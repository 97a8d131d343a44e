package filler

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"slurmflex/flex/view"
	"slurmflex/mig"
	"slurmflex/test/scenetest"
)

func TestQuotasAreReadInTheBackgroundEveryFiveMinutes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		calls, noted := 0, []mig.Quota(nil)
		answer := error(nil)
		q := &Quotas{
			Region: func(_ context.Context, name string) (mig.Region, error) {
				calls++
				time.Sleep(time.Second)
				return mig.Region{Name: name, Quotas: []mig.Quota{{Metric: "INSTANCE_GROUPS", Limit: 150, Usage: float64(calls)}}}, answer
			},
			Note: func(_ string, quotas []mig.Quota) { noted = quotas },
		}
		w := scenetest.New(scenetest.Cluster("", scenetest.FlexSet("a3", "us-central1-a", "node_count_dynamic_max: 1", "")))
		pass := func() view.Region {
			w.Snap.Now = time.Now()
			q.Keep(t.Context(), w.Scene())
			v := view.View{Regions: []view.Region{{Name: "us-central1"}}}
			q.Fill(&v)
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

package estimate

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"slurmflex/flex/plan"
	"slurmflex/flex/plan/demand"
	"slurmflex/flex/view"
	"slurmflex/test/bench/site"
	"slurmflex/test/scenetest"
)

func TestShownWaitHasAnEstimate(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, site.Waited(dir, 39))
	now := time.Now().UTC()
	queued := view.Row{NodeSet: "a3", Count: 2, State: view.Queued, Since: now.Add(-time.Hour), RequestedAt: now.Add(-5 * time.Minute)}
	older, waiting, shared := queued, queued, queued
	older.RequestedAt, waiting.State = now.Add(-time.Hour), view.Waiting
	shared.Count, shared.Group, shared.Request = 1, "g", "a1"
	v := view.View{SeenAt: now, Rows: []view.Row{queued, older, waiting, shared}, Groups: []view.Group{{Name: "g", Array: 812, Requests: []view.Request{{Name: "a1", Count: 2}}}}}
	f := &Shown{Dir: dir, Cluster: "alpha", asked: now}
	f.Fill(&v)
	assert.Nil(t, v.Rows[0].Estimate, "the history has not been read yet")
	f.read(now)
	f.Fill(&v)
	assert.Equal(t, view.Seconds(17*time.Minute), v.Rows[0].Estimate.Median)
	assert.Equal(t, view.Seconds(32*time.Minute), v.Rows[0].Estimate.P90)
	assert.Nil(t, v.Rows[1].Estimate, "no known wait is so long")
	assert.Nil(t, v.Rows[2].Estimate, "the row has no request")
	assert.False(t, v.Rows[3].Estimate.AnySize, "the size of the request counts")
}

// estimates reports whether a view shows an estimate for a wait that was requested at a time, that much
// later.
func estimates(f *Shown, requested time.Time, after time.Duration) bool {
	v := view.View{SeenAt: requested.Add(after), Rows: []view.Row{
		{NodeSet: "a3", Count: 2, State: view.Queued, RequestedAt: requested},
	}}
	f.Fill(&v)
	return v.Rows[0].Estimate != nil
}

// U14: the page shows an estimate at most a minute after the command does.
func TestHistoryIsRereadAfterAMinute(t *testing.T) {
	dir := t.TempDir()
	now := time.Now().UTC()
	f := &Shown{Dir: dir, Cluster: "alpha", asked: now}
	f.read(now)
	estimated := func(after time.Duration) bool { return estimates(f, now, after) }
	assert.False(t, estimated(0))
	require.NoError(t, site.Waited(dir, 39))
	assert.False(t, estimated(30*time.Second))
	assert.Equal(t, now, f.asked, "a minute is not over")
	require.Eventually(t, func() bool { return estimated(61 * time.Second) }, time.Minute, time.Millisecond)
}

func TestLongHistoryIsReadLessOften(t *testing.T) {
	now := time.Now().UTC()
	asks := func(took, after time.Duration) bool {
		f := &Shown{Dir: t.TempDir(), Cluster: "alpha", asked: now, took: took}
		estimates(f, now, after)
		return f.asked.After(now)
	}
	assert.True(t, asks(0, bookAge+1))
	assert.False(t, asks(3*time.Second, 5*time.Minute))
	assert.True(t, asks(3*time.Second, 5*time.Minute+1))
}

// No one may have asked for a view in days.
func TestPassesKeepTheHistoryUpToDate(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, site.Waited(dir, 39))
	w := scenetest.New(scenetest.Cluster("", scenetest.FlexSet("a3", "us-central1-a", "node_count_dynamic_max: 1", "")))
	w.Snap.Now = time.Now()
	f := &Shown{Dir: dir, Cluster: w.Config.Cluster}
	f.Keep(w.Scene(), plan.Plan{Waits: []demand.Wait{{Stage: demand.Waiting}}})
	assert.True(t, f.asked.IsZero(), "nothing waits for capacity")
	f.Keep(w.Scene(), plan.Plan{Waits: []demand.Wait{{Stage: demand.Queued}}})
	require.Eventually(t, func() bool { return estimates(f, time.Now(), 0) }, time.Minute, time.Millisecond)
}

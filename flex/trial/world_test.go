package trial

import (
	"context"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"slurmflex/mig/gce"
	"slurmflex/test/fakegce"
)

const (
	region  = "us-central1"
	machine = "g2-standard-4"
)

// world is a fake project with fake time, and a trial in that project.
type world struct {
	*Trial
	cloud *fakegce.Server
	wire  *wire
	said  []string
}

// wire carries calls, each through the test's function.
type wire struct {
	next http.RoundTripper
	via  func(next http.RoundTripper, r *http.Request) (*http.Response, error) // nil: unchanged
}

func (w *wire) RoundTrip(r *http.Request) (*http.Response, error) {
	if w.via == nil {
		return w.next.RoundTrip(r)
	}
	return w.via(w.next, r)
}

// inWorld runs a test in a world with operations of one second, requests that wait for three
// seconds and machines that boot in ten.
func inWorld(t *testing.T, run func(*testing.T, *world), change ...func(*fakegce.Options)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		o := fakegce.Options{OperationTime: time.Second, QueueTime: 3 * time.Second, BootTime: 10 * time.Second, DeleteTime: 7 * time.Second}
		for _, c := range change {
			c(&o)
		}
		w := &world{cloud: fakegce.New(o)}
		link, err := w.cloud.AddTemplate(region, fakegce.FlexTemplate("small", machine))
		require.NoError(t, err)
		w.wire = &wire{next: w.cloud.Transport()}
		again := &Again{Next: w.wire}
		client, err := gce.New(t.Context(), gce.Options{Project: "demo", Endpoint: "http://compute.test", Transport: again})
		require.NoError(t, err)
		template, err := client.Template(t.Context(), link)
		require.NoError(t, err)
		w.Trial = &Trial{
			Spec: Spec{
				Project: "demo", Cluster: "alpha", NodeSet: "a3", Region: region, Zones: []string{"us-central1-b", "us-central1-a"},
				Template: template, Random: "kxqzv", Wait: 5 * time.Minute,
			},
			Cloud: client, Again: again, Now: time.Now, Say: func(what string) { w.said = append(w.said, what) },
		}
		run(t, w)
		require.NoError(t, client.Close())
	})
}

// verdicts returns the names of the checks with a verdict.
func (r Report) verdicts(v Verdict) (names []string) {
	for _, c := range r.Results {
		if c.Verdict == v {
			names = append(names, c.Name)
		}
	}
	return names
}

// tries makes the trial and checks that nothing is left.
func (w *world) tries(t *testing.T, ctx context.Context) Report {
	t.Helper()
	w.cloud.ResetCalls()
	r := w.Run(ctx)
	time.Sleep(time.Minute) // for deletions that are under way
	state := w.cloud.State()
	require.Empty(t, state.Groups)
	require.Empty(t, state.Instances)
	require.Empty(t, state.Policies)
	return r
}

package trial

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"slurmflex/mig/gce"
	"slurmflex/test/fakegce"
	"slurmflex/test/must"
)

const (
	region  = "us-central1"
	machine = "g2-standard-4"
)

// world is a fake project with fake time, and a trial in that project.
type world struct {
	*testing.T
	*trial
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
func inWorld(t *testing.T, run func(*world), change ...func(*fakegce.Options)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		o := fakegce.Options{OperationTime: time.Second, QueueTime: 3 * time.Second, BootTime: 10 * time.Second, DeleteTime: 7 * time.Second}
		for _, c := range change {
			c(&o)
		}
		w := &world{T: t, cloud: fakegce.New(o)}
		link := must.Get(w.cloud.AddTemplate(region, fakegce.FlexTemplate("small", machine)))
		w.wire = &wire{next: w.cloud.Transport()}
		again := &again{next: w.wire}
		client, err := gce.New(t.Context(), gce.Options{Project: "demo", Endpoint: "http://compute.test", Transport: again})
		require.NoError(t, err)
		template, err := client.Template(t.Context(), link)
		require.NoError(t, err)
		w.trial = &trial{
			seen: seen{spec: spec{
				project: "demo", cluster: "alpha", nodeSet: "a3", region: region, zones: []string{"us-central1-b", "us-central1-a"},
				template: template, random: "kxqzv", wait: 5 * time.Minute,
			}},
			cloud: client, again: again, say: func(what string) { w.said = append(w.said, what) },
		}
		run(w)
		require.NoError(t, client.Close())
	})
}

// having returns the names of the checks with a verdict.
func (r report) having(v verdict) (names []string) {
	for line := range strings.Lines(r.lines) {
		if rest, has := strings.CutPrefix(line, string(v)+" "); has {
			_, rest, _ = strings.Cut(strings.TrimSpace(rest), " ")
			name, _, _ := strings.Cut(strings.TrimSpace(rest), ":")
			names = append(names, name)
		}
	}
	return names
}

// fault makes calls to the cloud fail.
func (w *world) fault(f fakegce.Fault) {
	w.Helper()
	require.NoError(w, w.cloud.AddFault(f))
}

// tries makes the trial and checks that nothing is left.
func (w *world) tries(ctx context.Context) report {
	w.Helper()
	w.cloud.ResetCalls()
	r := w.run(ctx)
	time.Sleep(time.Minute) // for deletions that are under way
	state := w.cloud.State()
	require.Empty(w, state.Groups)
	require.Empty(w, state.Instances)
	require.Empty(w, state.Policies)
	return r
}

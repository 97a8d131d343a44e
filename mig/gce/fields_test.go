package gce_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"slurmflex/mig"
	"slurmflex/mig/gce"
	"slurmflex/test/fakegce"
)

// altered removes the selections of fields from calls if whole is set, and a field from the answers.
type altered struct {
	next  http.RoundTripper
	whole bool
	lacks string // the removed field; "" for none
}

func (a altered) RoundTrip(req *http.Request) (*http.Response, error) {
	if query := req.URL.Query(); a.whole {
		query.Del("fields")
		req = req.Clone(req.Context())
		req.URL.RawQuery = query.Encode()
	}
	resp, err := a.next.RoundTrip(req)
	if err != nil || a.lacks == "" {
		return resp, err
	}
	var answer map[string]any
	if err := json.NewDecoder(resp.Body).Decode(&answer); err != nil {
		return nil, err
	}
	delete(answer, a.lacks)
	text, err := json.Marshal(answer)
	resp.Body = io.NopCloser(bytes.NewReader(text))
	return resp, err
}

// situation is a state of the cloud that lists must report.
type situation struct {
	faults []fakegce.Fault
	lacks  string // a field that no answer has
}

func situations() []situation {
	return []situation{
		{},
		{faults: []fakegce.Fault{{Method: "*ist", Warning: "PARTIAL"}}},
		{faults: []fakegce.Fault{{Method: list, Object: "us-central1-f", Skip: 3, Warning: "PARTIAL"}}},
		{faults: []fakegce.Fault{{Method: "*ist", Unreachable: []string{region}}}, lacks: "warning"},
		{faults: []fakegce.Fault{{Method: "*ResizeRequests.list", Object: "alpha-y", Warning: "PARTIAL"}}},
		{faults: []fakegce.Fault{{Method: "*ResizeRequests.list", Object: "alpha-y", Unreachable: []string{region}}}, lacks: "warning"},
		{faults: []fakegce.Fault{{Method: "*ist", Unreachable: []string{region}}}, lacks: "unreachables"},
		{faults: []fakegce.Fault{{Method: "*ist", Object: "us-central1/", Broken: &fakegce.Broken{Field: "creationTimestamp", Value: "yesterday"}}}},
		{faults: []fakegce.Fault{{Method: list, Object: "us-central1-f", Broken: &fakegce.Broken{Field: "metadata", Value: 5}}}},
	}
}

// instancesOfAll is the number of instances in a crowded project.
const instancesOfAll = 7

// crowded creates a project with two of every object, one per page, and with machines created
// within the last minute. One of these has announced maintenance.
func (w world) crowded() {
	w.Helper()
	ctx := w.Context()
	for _, name := range []string{"alpha-p", "alpha-q"} {
		require.NoError(w, w.CreatePolicy(ctx, mig.PolicySpec{Name: name, Region: region, Distance: "BLOCK", Stamp: w.spec(name, 1).Stamp}))
	}
	placed := w.spec("alpha-x", 1)
	placed.Policy = "alpha-p"
	w.grown(placed, "alpha-a3-2", "alpha-a3-3")
	require.NoError(w, w.BulkInsert(ctx, w.bulk("us-central1-b")))
	time.Sleep(time.Minute)
	w.cloud.SetCapacity("", "", 0)
	w.grown(w.spec("alpha-y", 2), "alpha-a3-4")
	second := request("alpha-a3-8")
	second.Name = "a2"
	require.NoError(w, w.CreateRequest(ctx, region, "alpha-y", second))
	w.grown(w.spec("alpha-z", 3), "alpha-a3-5")
	time.Sleep(time.Minute)
	require.NoError(w, w.cloud.FailRequest("alpha-z", "a1", "PERMISSIONS_ERROR", "no"))
	w.cloud.SetCapacity("us-central1-f", "", 3)
	late := w.spec("alpha-w", 4)
	late.Zones = []string{"us-central1-f"}
	w.grown(late, "alpha-a3-6")
	time.Sleep(time.Minute)
	late.Name = "alpha-v"
	w.grown(late, "alpha-a3-7", "alpha-a3-9")
	time.Sleep(time.Second)
	require.NoError(w, w.cloud.AnnounceMaintenance("alpha-a3-6", time.Hour, time.Hour))
}

// Every field that is read is requested: whole answers show nothing more.
func TestEachListFieldIsRead(t *testing.T) {
	inWorld(t, func(w world) {
		w.crowded()
		read := func(s situation, whole bool) (seen [2]everything) {
			client := func() *gce.Client {
				c, err := gce.New(w.Context(), gce.Options{Project: project, Endpoint: "http://compute.test", Rate: 1e6, Transport: altered{w.cloud.Transport(), whole, s.lacks}})
				require.NoError(w, err)
				return c
			}
			arm := func(faults ...fakegce.Fault) {
				w.cloud.ClearFaults()
				for _, f := range faults {
					w.fault(f)
				}
			}
			arm(s.faults...)
			seen[0] = readAll(w.T, client())
			arm(fakegce.Fault{Method: list, Lag: 30 * time.Second})
			later := client()
			readAll(w.T, later)
			arm(s.faults...)
			seen[1] = readAll(w.T, later)
			return seen
		}
		for _, s := range situations() {
			require.Equal(w, read(s, true), read(s, false))
		}
		all := read(situation{}, false)[1]
		require.Len(w, all.instances, instancesOfAll)
		require.Empty(w, all.unseen)
	}, func(o *fakegce.Options) { o.PageLimit = 1 })
}

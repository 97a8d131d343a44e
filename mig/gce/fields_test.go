package gce_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"slurmflex/mig"
	"slurmflex/mig/gce"
	"slurmflex/test/fakegce"
)

// leavesOf returns the fields of a selection as paths: a,b(c,d/e) becomes a, b/c and b/d/e.
func leavesOf(fields string) (leaves []string) {
	var (
		within []string
		name   string
	)
	end := func() {
		if name != "" {
			leaves = append(leaves, strings.Join(append(slices.Clone(within), name), "/"))
		}
		name = ""
	}
	for _, c := range fields {
		switch c {
		case '(':
			within, name = append(within, name), ""
		case ')':
			end()
			within = within[:len(within)-1]
		case ',':
			end()
		default:
			name += string(c)
		}
	}
	end()
	return leaves
}

// altered sends each call with the selection of fields to instead of from, or each call without a
// selection if from is anySelection, and removes a field from the answers. It records the requested
// selections.
type altered struct {
	next     http.RoundTripper
	from, to string
	lacks    string    // the removed field; "" for none
	asked    *sync.Map // by selection
}

func (a altered) RoundTrip(req *http.Request) (*http.Response, error) {
	req = req.Clone(req.Context())
	query := req.URL.Query()
	if fields := query.Get("fields"); fields != "" {
		a.asked.Store(fields, true)
		switch a.from {
		case fields:
			query.Set("fields", a.to)
		case anySelection:
			query.Del("fields")
		}
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

const anySelection = "*"

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
func crowded(t *testing.T, w world) {
	t.Helper()
	ctx := t.Context()
	peopled(t, w)
	stamp := mig.Stamp{Version: mig.StampVersion, Cluster: "alpha", NodeSet: "a3", Job: 1}
	require.NoError(t, w.CreatePolicy(ctx, mig.PolicySpec{Name: "alpha-q", Region: region, Distance: "BLOCK", Stamp: stamp}))
	second := request("alpha-a3-8")
	second.Name = "a2"
	require.NoError(t, w.CreateRequest(ctx, region, "alpha-y", second))
	time.Sleep(2 * time.Minute)
	w.cloud.SetCapacity("us-central1-f", "", 3)
	late := func(group string, job uint32, nodes ...string) {
		spec := w.spec(group, job)
		spec.Zones = []string{"us-central1-f"}
		require.NoError(t, w.CreateGroup(ctx, spec))
		require.NoError(t, w.CreateRequest(ctx, region, group, request(nodes...)))
	}
	late("alpha-w", 4, "alpha-a3-6")
	time.Sleep(time.Minute)
	late("alpha-v", 5, "alpha-a3-7", "alpha-a3-9")
	time.Sleep(time.Second)
	require.NoError(t, w.cloud.AnnounceMaintenance("alpha-a3-6", time.Hour, time.Hour))
}

// Every requested field is read: without it, a list shows less in some situation. Every field that is
// read is requested: the whole answers show nothing more.
func TestEachListFieldIsRead(t *testing.T) {
	inWorld(t, func(t *testing.T, w world) {
		crowded(t, w)
		var asked sync.Map
		read := func(s situation, from, to string) (seen [2]everything) {
			transport := altered{w.cloud.Transport(), from, to, s.lacks, &asked}
			client := func() *gce.Client {
				c, err := gce.New(t.Context(), gce.Options{Project: project, Endpoint: "http://compute.test", Rate: 1e6, Transport: transport})
				require.NoError(t, err)
				return c
			}
			arm := func(faults ...fakegce.Fault) {
				w.cloud.ClearFaults()
				for _, f := range faults {
					w.fault(f)
				}
			}
			arm(s.faults...)
			seen[0] = readAll(t, client())
			arm(fakegce.Fault{Method: list, Lag: 30 * time.Second})
			later := client()
			readAll(t, later)
			arm(s.faults...)
			seen[1] = readAll(t, later)
			return seen
		}
		var whole [][2]everything
		for _, s := range situations() {
			whole = append(whole, read(s, "", ""))
		}
		for n, s := range situations() {
			require.Equal(t, whole[n], read(s, "", ""), "nothing has changed meanwhile")
			require.Equal(t, whole[n], read(s, anySelection, ""))
		}
		require.Len(t, whole[0][1].instances, instancesOfAll)
		require.Empty(t, whole[0][1].unseen)
		var selections []string
		asked.Range(func(fields, _ any) bool {
			selections = append(selections, fields.(string))
			return true
		})
		require.Len(t, selections, 6, "groups, requests, policies, and instances in three ways")
		for _, fields := range selections {
			leaves := leavesOf(fields)
			for i, leaf := range leaves {
				without := strings.Join(slices.Delete(slices.Clone(leaves), i, i+1), ",")
				n := 0
				missed := slices.ContainsFunc(situations(), func(s situation) bool {
					n++
					return !assert.ObjectsAreEqual(whole[n-1], read(s, fields, without))
				})
				assert.True(t, missed, "no reader uses %s of %s", leaf, fields)
			}
		}
	}, func(o *fakegce.Options) { o.PageLimit = 1 })
}

package compare

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"slurmflex/flex/trial"
	"slurmflex/flex/trial/transcript"
	"slurmflex/mig/gce"
	"slurmflex/test/fakegce"
)

// wire is an http.RoundTripper made of a function.
type wire func(*http.Request) (*http.Response, error)

func (w wire) RoundTrip(r *http.Request) (*http.Response, error) { return w(r) }

// recorded returns a trial's transcript of a project that may behave differently from the
// fake.
func recorded(t *testing.T, change func(*fakegce.Options), via func(cloud *fakegce.Server, r *http.Request) (*http.Response, error)) string {
	t.Helper()
	var out bytes.Buffer
	synctest.Test(t, func(t *testing.T) {
		o := fakegce.Options{
			Project: "acme-hpc", OperationTime: 2 * time.Second, QueueTime: 17 * time.Second, BootTime: 40 * time.Second, DeleteTime: 25 * time.Second,
		}
		change(&o)
		cloud := fakegce.New(o)
		cloud.SetCapacity("us-central1-a", "", 0)
		link, err := cloud.AddTemplate("us-central1", fakegce.FlexTemplate("small", "g2-standard-4"))
		require.NoError(t, err)
		header := transcript.Header{Slurmflex: "v0.1.0", Begun: time.Now(), Region: "us-central1", Machine: "g2-standard-4"}
		recorder, err := transcript.NewRecorder(&out, header, "acme-hpc", wire(func(r *http.Request) (*http.Response, error) { return via(cloud, r) }))
		require.NoError(t, err)
		again := &trial.Again{Next: recorder}
		client, err := gce.New(t.Context(), gce.Options{Project: "acme-hpc", Endpoint: "http://compute.test", Transport: again})
		require.NoError(t, err)
		template, err := client.Template(t.Context(), link)
		require.NoError(t, err)
		tr := trial.Trial{
			Spec: trial.Spec{
				Project: "acme-hpc", Cluster: "alpha", NodeSet: "a3", Region: "us-central1", Zones: []string{"us-central1-a", "us-central1-b"},
				Template: template, Random: "kxqzv", Wait: 5 * time.Minute,
			},
			Cloud: client, Again: again, Now: time.Now, Say: func(string) {},
		}
		tr.Run(t.Context())
		require.NoError(t, recorder.Err())
		require.NoError(t, client.Close())
	})
	return out.String()
}

func asItIs(cloud *fakegce.Server, r *http.Request) (*http.Response, error) {
	return cloud.Transport().RoundTrip(r)
}

func unchanged(*fakegce.Options) {}

// compared returns the lines that Run prints about a transcript, except the last, and the
// number of differences.
func compared(t *testing.T, text string) (lines []string, n int) {
	t.Helper()
	header, exchanges, err := transcript.Read(strings.NewReader(text))
	require.NoError(t, err)
	var out strings.Builder
	n, err = Run(&out, header, exchanges)
	require.NoError(t, err)
	lines = strings.Split(strings.TrimSpace(out.String()), "\n")
	last := len(lines) - 1
	assert.Equal(t, fmt.Sprintf("compare: exchanges: %d, differences: %d", len(exchanges), n), lines[last])
	assert.Len(t, lines[:last], n)
	return lines[:last], n
}

func TestTranscriptOfTheFakeShowsNoDifference(t *testing.T) {
	lines, n := compared(t, recorded(t, unchanged, asItIs))
	assert.Zero(t, n, "%s", strings.Join(lines, "\n"))
}

func TestTranscriptWithoutCapacityShowsNoDifference(t *testing.T) {
	for name, until := range map[string]time.Duration{"for ever": 365 * 24 * time.Hour, "for a minute": time.Minute} {
		t.Run(name, func(t *testing.T) {
			begun := time.Time{}
			lines, n := compared(t, recorded(t, unchanged, func(cloud *fakegce.Server, r *http.Request) (*http.Response, error) {
				if begun.IsZero() {
					begun = time.Now()
				}
				if time.Since(begun) < until {
					cloud.SetCapacity("us-central1-b", "", 0)
				} else {
					cloud.SetCapacity("us-central1-b", "", -1)
				}
				return cloud.Transport().RoundTrip(r)
			}))
			assert.Zero(t, n, "%s", strings.Join(lines, "\n"))
		})
	}
}

// edited replaces text in the answers to calls with a verb and a path suffix.
func edited(verb, path, old, text string) func(*fakegce.Server, *http.Request) (*http.Response, error) {
	return func(cloud *fakegce.Server, r *http.Request) (*http.Response, error) {
		resp, err := cloud.Transport().RoundTrip(r)
		if err != nil || r.Method != verb || !strings.HasSuffix(r.URL.Path, path) {
			return resp, err
		}
		body, err := io.ReadAll(resp.Body)
		resp.Body = io.NopCloser(strings.NewReader(strings.ReplaceAll(string(body), old, text)))
		return resp, err
	}
}

func TestDifferentAnswersAreFound(t *testing.T) {
	const requests = "regions/*/instanceGroupManagers/*/resizeRequests"
	for name, c := range map[string]struct {
		switches fakegce.Switches
		via      func(*fakegce.Server, *http.Request) (*http.Response, error)
		finds    string
	}{
		"in status": {
			switches: fakegce.Switches{LateRefusals: true},
			finds:    "POST " + requests + "/*/cancel: status: the transcript has 200, the fake 412 Cancelling resize request that has reached a final state is not possible.",
		},
		"in a field that the fake has": {
			via:   edited("POST", "/resizeRequests", `"clientOperationId"`, `"clientId"`),
			finds: "POST " + requests + ": field clientOperationId: only the fake has it",
		},
		"in a field that Compute has": {
			via:   edited("GET", "/alpha-trial-kxqzv-g", `"targetSize":`, `"satisfiesPzs":false,"targetSize":`),
			finds: "GET regions/*/instanceGroupManagers/*: field satisfiesPzs: only the transcript has it",
		},
		"in a type": {
			via:   edited("GET", "/alpha-trial-kxqzv-g", `"baseInstanceName":"alpha-trial-kxqzv-g"`, `"baseInstanceName":7`),
			finds: "GET regions/*/instanceGroupManagers/*: field baseInstanceName: the transcript has number, the fake string",
		},
		"in an enum": {
			via:   edited("GET", "/alpha-trial-kxqzv-g", `"OPPORTUNISTIC"`, `"PROACTIVE"`),
			finds: "GET regions/*/instanceGroupManagers/*: field updatePolicy.type: the transcript has string PROACTIVE, the fake string OPPORTUNISTIC",
		},
		"in an operation's type": {
			via: edited("POST", "/resizeRequests", "compute.regionInstanceGroupManagerResizeRequests", "compute.instanceGroupManagerResizeRequests"),
			finds: "POST " + requests + ": field operationType: the transcript has string compute.instanceGroupManagerResizeRequests.insert, " +
				"the fake string compute.regionInstanceGroupManagerResizeRequests.insert",
		},
		"in a refusal's reason": {
			via:   edited("POST", "/resizeRequests", `"alreadyExists"`, `"duplicate"`),
			finds: "POST " + requests + ": field error.errors[].reason: the transcript has string duplicate, the fake string alreadyExists",
		},
		"in a state that the fake does not reach": {
			via:   edited("GET", "/resizeRequests", `"CANCELLED"`, `"DELETING"`),
			finds: "GET " + requests + ": state items[cancelled].state: the transcript has DELETING, the fake CANCELLED",
		},
		"in a target size": {
			switches: fakegce.Switches{TargetSizeAt: fakegce.AtSucceeded},
			finds:    "GET regions/*/instanceGroupManagers/*: state targetSize: the transcript has 0, the fake 1",
		},
		"in a member that stays": {
			switches: fakegce.Switches{LostInstancesLeave: true},
			finds:    "POST regions/*/instanceGroupManagers/*/listManagedInstances: state managedInstances[alpha-trial-kxqzv-0]: the transcript lacks it, the fake there",
		},
		"in a record that is gone": {
			switches: fakegce.Switches{ForgetRefused: true},
			finds:    "GET " + requests + ": state items[short].state: the transcript lacks it, the fake FAILED",
		},
	} {
		t.Run(name, func(t *testing.T) {
			if c.via == nil {
				c.via = asItIs
			}
			lines, _ := compared(t, recorded(t, func(o *fakegce.Options) { o.Switches = c.switches }, c.via))
			assert.Contains(t, lines, c.finds)
		})
	}
}

func TestTranscriptWithoutATemplateCannotBeCompared(t *testing.T) {
	_, err := Run(io.Discard, transcript.Header{}, nil)
	assert.EqualError(t, err, "the transcript lacks an instance template, because its trial could not read one")
}

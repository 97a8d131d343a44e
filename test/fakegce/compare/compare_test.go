package compare

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"slurmflex/cmd/slurmflex-trial/trial"
	"slurmflex/test/fakegce"
	"slurmflex/test/must"
)

// wire is an http.RoundTripper made of a function.
type wire func(*http.Request) (*http.Response, error)

func (w wire) RoundTrip(r *http.Request) (*http.Response, error) { return w(r) }

const configText = `slurm_cluster_name: alpha
project: acme-hpc
partitions:
  train: {partition_name: train, enable_job_exclusive: true, partition_nodeset: [a3]}
nodeset:
  a3:
    nodeset_name: a3
    node_count_dynamic_max: 1
    instance_template: projects/acme-hpc/regions/us-central1/instanceTemplates/small
    subnetwork: projects/acme-hpc/regions/us-central1/subnetworks/default
    zone_policy_allow: [us-central1-a, us-central1-b]
    dws_flex: {use_job_duration: true}
slurmflex: {compute_endpoint: "http://compute.test"}
`

// recorded returns a trial's transcript of a project that may behave differently from the
// fake.
func recorded(t *testing.T, change func(*fakegce.Options), via func(cloud *fakegce.Server, r *http.Request) (*http.Response, error)) string {
	t.Helper()
	config, record := filepath.Join(t.TempDir(), "config.yaml"), filepath.Join(t.TempDir(), "trial.jsonl")
	require.NoError(t, os.WriteFile(config, []byte(configText), 0o600))
	synctest.Test(t, func(t *testing.T) {
		o := fakegce.Options{
			Project: "acme-hpc", OperationTime: 2 * time.Second, QueueTime: 17 * time.Second, BootTime: 40 * time.Second, DeleteTime: 25 * time.Second,
		}
		change(&o)
		cloud := fakegce.New(o)
		cloud.SetCapacity("us-central1-a", "", 0)
		must.Get(cloud.AddTemplate("us-central1", fakegce.FlexTemplate("small", "g2-standard-4")))
		cmd := trial.New(wire(func(r *http.Request) (*http.Response, error) { return via(cloud, r) }))
		cmd.SetArgs([]string{"--config", config, "--nodeset", "a3", "--yes", "--record", record})
		cmd.SetOut(io.Discard)
		cmd.SetErr(io.Discard)
		_ = cmd.ExecuteContext(t.Context()) // some checks may fail
	})
	return regexp.MustCompile(`alpha-trial--[a-z]{5}`).ReplaceAllString(must.Text(record), "alpha-trial--kxqzv")
}

func asItIs(cloud *fakegce.Server, r *http.Request) (*http.Response, error) {
	return cloud.Transport().RoundTrip(r)
}

func unchanged(*fakegce.Options) {}

// compared returns the lines that Run prints about a transcript, except the last, and the
// number of differences.
func compared(t *testing.T, text string) (lines []string, n int) {
	t.Helper()
	header, exchanges, err := Read(strings.NewReader(text))
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

// edited replaces a text in the answers that show the trial's group.
func edited(old, text string) func(*fakegce.Server, *http.Request) (*http.Response, error) {
	return func(cloud *fakegce.Server, r *http.Request) (*http.Response, error) {
		resp, err := cloud.Transport().RoundTrip(r)
		if err != nil || r.Method != http.MethodGet || !strings.HasSuffix(r.URL.Path, "-g") {
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
		"in a field that Compute has": {
			via:   edited(`"targetSize":`, `"satisfiesPzs":false,"targetSize":`),
			finds: "GET regions/*/instanceGroupManagers/*: field satisfiesPzs: only the transcript has it",
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

//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"slurmflex/test/lab"
)

// federation is the credentials file of a workload identity pool whose provider reads the host's
// token from a file.
const federation = `{"type": "external_account", "audience": "//iam.googleapis.com/projects/1/locations/global/workloadIdentityPools/p/providers/site",
"subject_token_type": "urn:ietf:params:oauth:token-type:jwt", "token_url": "%s/token", "credential_source": {"file": "%s"}}`

// The hooks, the daemon and config check use federated credentials, and reach Compute and the nodes
// through a link.
func TestControllerOutsideComputeEngineRunsAJob(t *testing.T) {
	l := cluster(t, lab.Options{Daemon: true, Premises: true})
	key, token, out := filepath.Join(l.Dir, "etc/key.json"), filepath.Join(l.Dir, "etc/token.jwt"), l.Log("nodes")
	require.NoError(t, os.WriteFile(token, []byte("a.site's.token"), 0o600))
	require.NoError(t, os.WriteFile(key, fmt.Appendf(nil, federation, l.ComputeEndpoint(), token), 0o600))
	require.NoError(t, l.StopDaemon())
	require.NoError(t, l.StartDaemon(context.Background()))

	awaitDone(t, l, submitScript(t, l, "srun printenv SLURMD_NODENAME >"+out, "-p", "train", "-N2", "--time=15"))
	assert.ElementsMatch(t, []string{"alpha-a3-0", "alpha-a3-1"}, strings.Fields(readFile(out)))
	awaitNothingLeft(t, l)
}

func TestConfigCheckNamesWhatAnOutsideControllerLacks(t *testing.T) {
	l := cluster(t, lab.Options{Daemon: true, Premises: true})
	check := func() string {
		out, err := l.Flex(context.Background(), "config", "check", "--live")
		if err != nil {
			out += err.Error()
		}
		return out
	}
	undo := func(undo func() error, err error) func() {
		require.NoError(t, err)
		return func() { require.NoError(t, undo()) }
	}
	right := readFile(l.Config())
	var plain strings.Builder // as on Compute Engine
	for line := range strings.Lines(right) {
		if !strings.Contains(line, "compute_endpoint") && !strings.Contains(line, "credentials_file") {
			plain.WriteString(line)
		}
	}
	for name, c := range map[string]struct {
		take  func() (restore func())
		finds string
	}{
		"nothing is missing": {func() func() { return func() {} }, `config.yaml: OK: cluster alpha: .*; Slurm and Compute match`},
		"no credentials": {
			func() func() {
				require.NoError(t, os.WriteFile(l.Config(), []byte(plain.String()), 0o644))
				return func() { require.NoError(t, os.WriteFile(l.Config(), []byte(right), 0o644)) }
			},
			`slurmflex.credentials_file: compute client: .* credentials.*; Compute was not queried; outside Compute Engine, set this to a file with Google credentials`,
		},
		"no route": {
			func() func() { return undo(l.CutCompute(context.Background())) },
			`project: not checked: list groups of us-central1: .*: no route to host \(after \d+ attempts\); check that this host can reach Compute`,
		},
		"no name of Compute": {
			func() func() { return undo(l.Forget("compute")) },
			`project: not checked: list groups of us-central1: .* lookup compute.example.com.*; check that this host can reach Compute`,
		},
	} {
		restore := c.take()
		assert.Regexp(t, c.finds, check(), name)
		restore()
	}

	remember := undo(l.Forget("alpha-a3-"))
	id := submit(t, l, "-p", "train", "-N1", "--time=15")
	if l.Version.AtLeast(24, 11) { // slurmctld knows the address from the node's registration
		awaitDone(t, l, id)
		return
	}
	// slurmctld cannot start the job on the new node, and requeues it.
	awaitJob(t, l, time.Minute, id, "Restarts", "1")
	assert.Regexp(t, `nodeset.a3: this host does not resolve the addresses of alpha-a3-0, so slurmctld cannot reach these nodes: lookup alpha-a3-0: no such host; `+
		`forward c.demo.internal to Compute's DNS, and add us-central1-a.c.demo.internal and us-central1-b.c.demo.internal to the DNS search list`, check())
	remember()
	cancelForGood(t, l, id)
}

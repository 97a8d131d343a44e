//go:build e2e

package e2e

import (
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

func TestExclusiveJobRunsWithoutADaemon(t *testing.T) {
	l := cluster(t, lab.Options{})
	id := submit(t, l, "-p", "train", "-N2", "--time=15")
	assert.Equal(t, 15*time.Minute, awaitRequest(t, l, "alpha-a3-job-"+id).Duration)
	awaitDone(t, l, id)
}

func TestManualPowerUpAndPowerDownOfANode(t *testing.T) {
	l := withDaemon(t)
	update(t, l, "nodename=alpha-a3-5", "state=power_up")
	assert.Equal(t, []string{"alpha-a3-5"}, awaitRequest(t, l, "alpha-a3-node-5").Instances)
	awaitUp(t, l, "alpha-a3-5")
	update(t, l, "nodename=alpha-a3-5", "state=power_down_force")
	awaitNothingLeft(t, l)
}

func TestOtherNodesetsAreDelegated(t *testing.T) {
	l := withDaemon(t)
	update(t, l, "nodename=alpha-cpu-[0-1]", "state=power_up")
	await(t, time.Minute, "the delegate to be called", func() bool {
		return strings.Contains(readFile(l.Log("delegate.log")), "/bin/delegate alpha-cpu-[0-1]")
	})
	assert.Empty(t, state(t, l).Groups)
}

func TestLeaseFollowsTheTimeLimitOrIsTheMaximum(t *testing.T) {
	l := withDaemon(t)
	follows := submit(t, l, "-p", "train", "-N2", "--time=15")
	id := submit(t, l, "-p", "fixed", "-N1", "--time=15")
	request := awaitRequest(t, l, "alpha-a3-job-"+follows)
	assert.Len(t, request.Instances, 2)
	assert.Equal(t, 15*time.Minute, request.Duration, "use_job_duration: the job's TimeLimit")
	assert.Equal(t, time.Hour, awaitRequest(t, l, "alpha-g2-job-"+id).Duration, "max_run_duration")
	awaitCompleted(t, l, follows)
	awaitDone(t, l, id)
}

// federation is the credentials file of a workload identity pool whose provider reads the host's
// token from a file.
const federation = `{"type": "external_account", "audience": "//iam.googleapis.com/projects/1/locations/global/workloadIdentityPools/p/providers/site",
"subject_token_type": "urn:ietf:params:oauth:token-type:jwt", "token_url": "%s/token", "credential_source": {"file": "%s"}}`

// A controller outside Compute Engine has such credentials.
func TestFederatedCredentialsRunAJob(t *testing.T) {
	l := cluster(t, lab.Options{})
	token := filepath.Join(l.Dir, "etc/token.jwt")
	require.NoError(t, os.WriteFile(token, []byte("a.site's.token"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(l.Dir, "etc/key.json"), fmt.Appendf(nil, federation, l.Endpoint, token), 0o600))
	awaitDone(t, l, submit(t, l, "-p", "train", "-N2", "--time=15"))
}

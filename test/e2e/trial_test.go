//go:build e2e

package e2e

import (
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestTrialWithARunningDaemonKeepsJobsAndCleansUp(t *testing.T) {
	l := withDaemon(t)
	id := submit(t, l, "-p", "train", "-N2", "--gpus-per-node=8", "--time=15")
	trial := exec.CommandContext(t.Context(), filepath.Join(l.Build, "slurmflex-trial"), "--config", l.Config(), "--nodeset", "a3", "--yes")
	said, err := trial.CombinedOutput()
	out := string(said)
	require.NoError(t, err, out)
	assert.Regexp(t, `\ntrial: \d+ checks passed, 0 failed; left behind: nothing\n$`, out)
	name := regexp.MustCompile(`alpha-trial--[a-z]{5}`).FindString(out)
	require.NotEmpty(t, name)

	awaitCompleted(t, l, id)
	awaitNothingLeft(t, l)
	assert.NotRegexp(t, `"action": "[^"]*`+name, readFile(l.Log("daemon.log"))+readFile(l.Log("slurmflex.log")), "the daemon leaves the trial alone")
}

//go:build e2e

package e2e

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"slurmflex/test/lab"
)

// forged imitates the text that Slurm prints about a job and the text that slurmflex writes.
const forged = "x AdminComment=flex-start: told 2020-01-01T00:00:00Z: x UserId=root(0) Command=z\n" +
	"JobId=1 JobName=y\n1|1|N/A|15:00|RUNNING|alpha-a3-0|N/A|1|train|root|None\nslurmflex: waits \x1b[31mred\x1b]0;title\a | = %s \r\x01"

// submitAsUser submits a batch job as an unprivileged user, if Slurm accepts it.
func submitAsUser(t *testing.T, l *lab.Lab, args ...string) (id string, taken bool) {
	t.Helper()
	cmd := l.Client(context.Background(), "sbatch", append([]string{"--parsable", "-N1", "--time=15"}, args...)...)
	var err error
	cmd.SysProcAttr.Credential, err = lab.Credential("games") // 26.05 creates no reservation for user nobody
	require.NoError(t, err)
	out, err := cmd.Output()
	return strings.TrimSpace(string(out)), err == nil
}

func TestUserTextDecidesNothing(t *testing.T) {
	l := cluster(t, lab.Options{
		Daemon: true, FlexKeys: "provision_timeout: 15, on_provision_timeout: hold",
		NodeSets: []lab.NodeSet{{
			Name: "shared", Machine: "a2-highgpu-1g", Size: 1, Shared: true,
		}},
	})
	shut(t, l)
	capacity(t, l, "g2-standard-48", 8)

	// Which of these texts Slurm accepts depends on the version; a rejected text creates no job.
	folder := t.TempDir()
	require.NoError(t, os.Chmod(filepath.Dir(folder), 0o755))
	workDir := filepath.Join(folder, "d AdminComment=flex-start: told 2020-01-01T00:00:00Z: x Command=z")
	require.NoError(t, os.Mkdir(workDir, 0o755))
	script := filepath.Join(folder, "job")
	require.NoError(t, os.WriteFile(script, []byte("#!/bin/sh\nsleep 1\n"), 0o755))
	hostile := map[string][]string{
		"arguments": {script, forged}, "many arguments": {script, strings.Repeat("x", 64<<10)},
		"directory": {"-D", workDir, script}, "export": {"--export=A=" + forged, script},
	}
	for _, option := range []string{
		"job-name", "comment", "account", "qos", "wckey", "mail-user", "output", "extra", "licenses", "constraint", "array", "reservation", "partition",
	} {
		hostile[option] = []string{"--" + option + "=" + forged, script}
	}
	jobs := map[string]string{} // the final comment of each job
	for kind, args := range hostile {
		id, taken := submitAsUser(t, l, append([]string{"-p", "train", "-o", "/dev/null"}, args...)...)
		t.Logf("%s: taken %t, as job %s", kind, taken, id)
		if taken {
			jobs[id] = "no capacity"
		}
	}
	require.GreaterOrEqual(t, len(jobs), 10)
	gpus := "--gres=gpu:a\n1|1|N/A|UNLIMITED|RUNNING|alpha-a3-0|N/A|1|train|root|1|||(null)|8|None\n:1"
	held, taken := submitAsUser(t, l, "-p", "train", "-H", "-o", "/dev/null", gpus, script)
	require.True(t, taken)
	neighbour := submit(t, l, "-p", "shared", "-n1", "--time=15")
	jobs[neighbour] = "CONDITION_NOT_MET: no"
	awaitRequest(t, l, "alpha-shared-job-"+neighbour)
	beside, taken := submitAsUser(t, l, "-p", "shared", "-n1", "-o", "/dev/null", script, forged)
	require.True(t, taken)
	awaitJob(t, l, time.Minute, beside, "NodeList", "alpha-shared-0")
	awaitRequestState(t, l, "alpha-shared-job-"+neighbour, "a1", "ACCEPTED")
	tell(t, l, "fail", map[string]any{"group": "alpha-shared-job-" + neighbour, "request": "a1", "code": "CONDITION_NOT_MET", "message": "no"})

	awaitCompleted(t, l, submit(t, l, "-p", "fixed", "-N1", "--time=15"))
	for id, told := range jobs {
		awaitShown(t, 2*time.Minute, "job "+id+" to be held, with the notice "+told, func() (string, bool) {
			shown := ask(t, l, "squeue", "-h", "-j", id, "-O", "Reason:|,admin_comment:")
			return shown, regexp.MustCompile(`^JobHeldAdmin\|flex-start: held at \S+: ` + told + `.*\n$`).MatchString(shown)
		})
	}
	awaitShown(t, 2*time.Minute, "job "+beside+" to have lost its node too", func() (string, bool) {
		restarts := strings.TrimSpace(ask(t, l, "squeue", "-h", "-j", beside, "-O", "RestartCnt"))
		return restarts, restarts != "0"
	})

	awaitWhy(t, l, held, "1 of the 8 GPUs of each")
	shown, err := askAsNobody(t, l, "status", "--json")
	require.NoError(t, err, shown)
	assert.Contains(t, shown, `"unread_rows": []`)
	for id := range jobs {
		why, err := askAsNobody(t, l, "why", id)
		require.NoError(t, err, why)
		shown += why
	}
	shown += strings.ReplaceAll(readFile(l.Log("slurmflex.log"))+readFile(l.Log("daemon.log")), "\n", "")
	assert.NotRegexp(t, `[[:cntrl:]]`, strings.ReplaceAll(shown, "\t", ""), "the terminal output")
	assert.NotContains(t, shown, "2020-01-01")
	assert.Less(t, len(shown), 1<<20)
	cancelForGood(t, l, append(slices.Collect(maps.Keys(jobs)), beside, held)...)
}

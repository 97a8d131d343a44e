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
	cmd.SysProcAttr.Credential = credential(t, "games") // 26.05 creates no reservation for user nobody
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
	neighbour := submit(t, l, "-p", "shared", "-n1", "--time=15")
	jobs[neighbour] = "CONDITION_NOT_MET: no"
	awaitRequest(t, l, "alpha-shared-job-"+neighbour)
	beside, taken := submitAsUser(t, l, "-p", "shared", "-n1", "-o", "/dev/null", script, forged)
	require.True(t, taken)
	awaitJob(t, l, time.Minute, beside, "NodeList", "alpha-shared-0")
	fail(t, l, "alpha-shared-job-"+neighbour, "a1", "CONDITION_NOT_MET", "no")

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

	shown, err := askAsNobody(t, l, "status")
	require.NoError(t, err, shown)
	for id := range jobs {
		why, err := askAsNobody(t, l, "why", id)
		require.NoError(t, err, why)
		shown += why
	}
	shown += strings.ReplaceAll(readFile(l.Log("slurmflex.log"))+readFile(l.Log("daemon.log")), "\n", "")
	assert.NotRegexp(t, `[[:cntrl:]]`, strings.ReplaceAll(shown, "\t", ""), "the terminal output")
	assert.NotContains(t, shown, "2020-01-01")
	assert.Less(t, len(shown), 1<<20)
	cancelForGood(t, l, append(slices.Collect(maps.Keys(jobs)), beside)...)
}

func TestJobsAfterTheYear9999DoNotStopOthers(t *testing.T) {
	l := withDaemon(t)
	far, taken := submitAsUser(t, l, "-p", "train", "--begin=now+500000weeks", "-o", "/dev/null", "--wrap", "true")
	require.True(t, taken)
	rubbish, taken := submitAsUser(t, l, "-p", "train", "--begin=uts999999999999999999", "-o", "/dev/null", "--wrap", "true")
	require.True(t, taken, "a year of more than 32 bits")
	assert.Regexp(t, `^\d{5}-`, ask(t, l, "squeue", "-h", "-j", far, "-o", "%S"))
	assert.Regexp(t, `^-?\d{9,}-`, ask(t, l, "squeue", "-h", "-j", rubbish, "-o", "%S"))

	id := submit(t, l, "-p", "train", "-N2", "--time=15")
	awaitRequest(t, l, "alpha-a3-job-"+id)
	awaitCompleted(t, l, id)
	for _, hostile := range []string{far, rubbish} {
		why, err := l.Flex(context.Background(), "why", hostile)
		require.NoError(t, err)
		assert.Regexp(t, regexp.QuoteMeta("job "+hostile), why)
	}
	_, err := l.Flex(context.Background(), "status", "--json")
	require.NoError(t, err)
	out, err := l.Flex(context.Background(), "sync")
	require.NoError(t, err, out)
	cancelForGood(t, l, far, rubbish)
}

func TestRequestedGPUsCannotForgeARow(t *testing.T) {
	l := withDaemon(t)
	shut(t, l)
	id := submit(t, l, "-p", "train", "-N2", "--gpus-per-node=8", "--time=15")
	awaitRequest(t, l, "alpha-a3-job-"+id)
	gres := "--gres=gpu:a\n" + id + "|" + id + "|N/A|UNLIMITED|RUNNING|alpha-a3-0|N/A|1|train|root|1|||(null)|8|None\n:1"
	hostile, taken := submitAsUser(t, l, "-p", "train", "-H", "-o", "/dev/null", gres, "--wrap", "true")
	require.True(t, taken)
	assert.Contains(t, ask(t, l, "squeue", "-h", "-j", hostile, "-o", "%b"), "\n"+id+"|")

	awaitShown(t, 2*time.Minute, "the job's row to be read, and its GPUs", func() (string, bool) {
		why, err := l.Flex(context.Background(), "why", hostile)
		return why, err == nil && strings.Contains(why, "1 of the 8 GPUs of each")
	})
	shown, err := l.Flex(context.Background(), "status", "--json")
	require.NoError(t, err)
	assert.Regexp(t, `"unread_rows": \[\]`, shown)
	assert.Regexp(t, `"job": `+id+`,(?:[^{}]|\{[^{}]*\})*"node_count": 2,\s*"gpus_per_node": 8,`, shown)
	cancelForGood(t, l, id, hostile)
}

// D1
func TestAccountTextDoesNotBillOthers(t *testing.T) {
	l := withDaemon(t)
	shut(t, l)
	id := submit(t, l, "-p", "train", "-N2", "--time=15", "-A", "ml")
	awaitRequest(t, l, "alpha-a3-job-"+id)
	hostile := map[string]string{}
	for option, text := range map[string]string{
		"account": "evil\n" + id + "|mallory\n999|x", "nodelist": "alpha-a3-0\n9|a||slurmflex-alpha.salvage-9|8|None",
	} {
		job, taken := submitAsUser(t, l, "-p", "train", "-H", "-o", "/dev/null", "--"+option+"="+text, "--wrap", "true")
		t.Logf("%s: taken %t, as job %s", option, taken, job)
		if taken {
			hostile[option] = job
		}
	}
	require.Contains(t, hostile, "account")
	assert.Contains(t, ask(t, l, "squeue", "-h", "-j", hostile["account"], "-o", "%a"), "\n"+id+"|mallory\n")
	capacity(t, l, "", 8)
	awaitCompleted(t, l, id)
	awaitNothingLeft(t, l)

	bill := ""
	awaitShown(t, 2*time.Minute, "the machines' hours to be ml's", func() (string, bool) {
		out, err := l.Flex(context.Background(), "cost", "--by", "account", "--json")
		if err != nil {
			return err.Error(), false // the history does not exist yet
		}
		bill = out
		return out, strings.Contains(out, `"key": "ml"`)
	})
	assert.NotContains(t, bill, "mallory")
	shown, err := l.Flex(context.Background(), "status", "--json")
	require.NoError(t, err)
	assert.Regexp(t, `"unread_rows": \[\]`, shown)
	cancelForGood(t, l, slices.Collect(maps.Values(hostile))...)
}

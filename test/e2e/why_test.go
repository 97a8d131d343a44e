//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"os/user"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"slurmflex/test/lab"
)

// nobody is a user who may do nothing.
func nobody(t *testing.T) *syscall.Credential {
	t.Helper()
	u, err := user.Lookup("nobody")
	require.NoError(t, err)
	var c syscall.Credential
	_, err = fmt.Sscan(u.Uid+" "+u.Gid, &c.Uid, &c.Gid)
	require.NoError(t, err)
	return &c
}

// askAsNobody runs a command of slurmflex as a user who may do nothing, in an
// environment that names no Slurm, and returns what it printed, unwrapped.
func askAsNobody(t *testing.T, l *lab.Lab, args ...string) (string, error) {
	t.Helper()
	cmd := l.Command(context.Background(), nil, args...)
	cmd.SysProcAttr.Credential = nobody(t)
	cmd.Env = []string{"PATH=/usr/bin:/bin"}
	out, err := cmd.CombinedOutput()
	return strings.Join(strings.Fields(string(out)), " "), err
}

// awaitWhy waits until the answer to why says something.
func awaitWhy(t *testing.T, l *lab.Lab, subject, pattern string) {
	t.Helper()
	form := regexp.MustCompile(pattern)
	awaitShown(t, 90*time.Second, "why "+subject+" to say "+pattern, func() (string, bool) {
		story, err := askAsNobody(t, l, "why", "--verbose", subject)
		return story, err == nil && form.MatchString(story)
	})
}

func TestAnybodyIsToldWhyAtEachStageOfAJobsLife(t *testing.T) {
	l := cluster(t, lab.Options{Daemon: true})
	shut(t, l)
	id := submit(t, l, "-p", "train", "-N2", "--time=15", "--hold")
	awaitWhy(t, l, id, `It is held by its owner; to release it: .scontrol release `+id+`. \(Slurm reason: JobHeldUser\)\. slurmflex has not requested machines yet`)

	run(t, l, "scontrol", "release", id)
	awaitWhy(t, l, id, `Queued at Google for .*no capacity in us-central1 yet\. Google keeps retrying.*Requested at .*: 2 a3-megagpu-8g machines `+
		`\(alpha-a3-\[0-1\]\) for 00:15:00, in request alpha-a3-job-`+id+`/a1\. .*Slurm allocated alpha-a3-\[0-1\] at \S+ .*`+
		`a shorter --time \(the machines are requested for [0-9:]+\) or fewer nodes \(now 2\)`+
		`.*Google's last error message: ZONE_RESOURCE_POOL_EXHAUSTED`)
	awaitWhy(t, l, "alpha-a3-0", `It is allocated to job `+id+` \(root\)\..*Queued at Google for`)
	awaitWhy(t, l, "alpha-a3-job-"+id, `Queued at Google for .*for job `+id+` \(nodeset a3\)\.`)
	status, err := askAsNobody(t, l, "status")
	require.NoError(t, err, status)
	assert.Regexp(t, `a3 `+id+` root alpha-a3-\[0-1\] queued 00:15:00 for `, status)

	require.NoError(t, l.Mute("alpha-a3-.*")) // so that they boot until they are heard
	capacity(t, l, "", 8)
	awaitWhy(t, l, id, `The machines of alpha-a3-\[0-1\] were created at .* and are booting; .*The job starts once all have`)
	cancel(t, l, id)
	awaitWhy(t, l, id, `There is no such job in Slurm's queue.*Recent actions: .*delete group alpha-a3-job-`+id)
	awaitWhy(t, l, "alpha-a3-0", `It has no machine and none is requested`)

	require.NoError(t, l.Mute(""))
	id = submitScript(t, l, "sleep 600", "-p", "train", "-N2", "--time=15")
	awaitWhy(t, l, id, `It has been running since .*The machines of alpha-a3-\[0-1\] were created at .* and are in use\.`)
	awaitWhy(t, l, id, `The lease ends at `)
	awaitWhy(t, l, "alpha-a3-1", `Slurm shows it as in use .*It is allocated to job `+id)

	other := submit(t, l, "-p", "train", "-w", "alpha-a3-[0-1]", "-N2", "--time=15")
	awaitWhy(t, l, other, `\(Slurm reason: (Resources|Priority|ReqNodeNotAvail).*slurmflex has not requested machines yet`)
	cancelForGood(t, l, id, other)
}

//go:build e2e

package e2e

import (
	"context"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"slurmflex/test/lab"
)

func TestHeterogeneousJobsFirstComponentStartsLast(t *testing.T) {
	l := withDaemon(t)
	capacity(t, l, "g2-standard-48", 0)
	leader := submit(t, l, "-p", "train", "-N1", "--time=15", ":", "-p", "fixed", "-N2", "--time=15")
	awaitTold(t, l, 2*time.Minute, leader+"+0", `the other components of job `+leader+` are requested first`)
	awaitTold(t, l, 2*time.Minute, leader+"+1", `for 2 × g2-standard-48 for 01:00:00`)
	awaitWhy(t, l, leader+"+1", `job `+leader+`\+1 \(root\) QUEUED at Google .*request 2 × g2-standard-48 .*the components of a heterogeneous job start together: `+leader+`\+0 is CONFIGURING`)
	status, err := askAsNobody(t, l, "status")
	require.NoError(t, err, status)
	assert.Regexp(t, `a3 `+leader+`\+0 root alpha-a3-0 waiting .*g2 `+leader+`\+1 root alpha-g2-\[0-1\] queued`, status)
	awaitPasses(t, l, 2)
	assert.Len(t, state(t, l).Groups, 1, "there is capacity for the first component, and it would come too early")
	capacity(t, l, "g2-standard-48", 8)
	awaitDone(t, l, leader)
}

// askAsNobody runs a slurmflex command as an unprivileged user, in an environment that does not
// name a Slurm, and returns its unwrapped output.
func askAsNobody(t *testing.T, l *lab.Lab, args ...string) (string, error) {
	t.Helper()
	var err error
	cmd := l.Command(context.Background(), nil, args...)
	cmd.SysProcAttr.Credential, err = lab.Credential("nobody")
	require.NoError(t, err)
	cmd.Env = []string{"PATH=/usr/bin:/bin"}
	out, err := cmd.CombinedOutput()
	return strings.Join(strings.Fields(string(out)), " "), err
}

// awaitWhy waits until the output of why matches a pattern.
func awaitWhy(t *testing.T, l *lab.Lab, subject, pattern string) {
	t.Helper()
	form := regexp.MustCompile(pattern)
	awaitShown(t, 90*time.Second, "why "+subject+" to print "+pattern, func() (string, bool) {
		story, err := askAsNobody(t, l, "why", "--verbose", subject)
		return story, err == nil && form.MatchString(story)
	})
}

func TestAnyUserCanReadWhyAtEachStageOfAJob(t *testing.T) {
	l := withDaemon(t)
	shut(t, l)
	id := submit(t, l, "-p", "train", "-N2", "--time=15", "--hold")
	awaitWhy(t, l, id, `HELD by its owner cause its owner holds it \(JobHeldUser\) request 2 nodes, for 15m in partition train you can scontrol release `+id)

	run(t, l, "scontrol", "release", id)
	awaitWhy(t, l, id, `QUEUED at Google for \w+ cause no capacity in us-central1-a or us-central1-b request 2 × a3-megagpu-8g \(alpha-a3-\[0-1\]\) for 15m since [0-9:]+, `+
		`alpha-a3-job-`+id+`/a1 ahead no nodes of this cluster .*next starts once all machines have registered.*`+
		`you can submit it again with a shorter --time \(its lease: 15m\) or fewer nodes \(now 2\): .*Google's last error message: ZONE_RESOURCE_POOL_EXHAUSTED`)
	awaitWhy(t, l, "alpha-a3-0", `, reserved for job `+id+` \(root\): QUEUED at Google for`)
	awaitWhy(t, l, "alpha-a3-job-"+id, ` of job `+id+`, nodeset a3 QUEUED at Google for`)
	status, err := askAsNobody(t, l, "status")
	require.NoError(t, err, status)
	assert.Regexp(t, `a3 `+id+` root alpha-a3-\[0-1\] queued 00:15:00 for `, status)

	require.NoError(t, l.Mute("alpha-a3-.*")) // so that they boot until they register
	capacity(t, l, "", 8)
	awaitWhy(t, l, id, `BOOTING for \w+ machines 2 × a3-megagpu-8g \(alpha-a3-\[0-1\]\) in us-central1-\w since [0-9:]+ .*starts once all machines have registered`)
	cancel(t, l, id)
	awaitWhy(t, l, id, `ENDED at .* machines none left, and no requests `)
	awaitWhy(t, l, "alpha-a3-0", `none, and none is requested: no job is using it`)

	require.NoError(t, l.Mute(""))
	id = submitScript(t, l, "sleep 600", "-p", "train", "-N2", "--time=15")
	awaitWhy(t, l, id, `RUNNING for \w+ machines 2 × a3-megagpu-8g \(alpha-a3-\[0-1\]\) .* since `)
	awaitWhy(t, l, id, `next its lease ends at `)
	awaitWhy(t, l, "alpha-a3-1", `IN USE, allocated to job `+id)

	other := submit(t, l, "-p", "train", "-w", "alpha-a3-[0-1]", "-N2", "--time=15")
	awaitWhy(t, l, other, `WAITS for nodes of a3 cause asks for alpha-a3-\[0-1\], which other jobs have or which it cannot use now .*Slurm's reason: (Resources|Priority|ReqNodeNotAvail)`)
	cancelForGood(t, l, id, other)
}

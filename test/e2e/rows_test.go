//go:build e2e

package e2e

import (
	"context"
	"regexp"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"slurmflex/test/lab"
)

func TestJobsThatBeginAfterTheYear9999StopNobodyElse(t *testing.T) {
	l := cluster(t, lab.Options{Daemon: true})
	far, taken := submitAsNobody(t, l, "-p", "train", "--begin=now+500000weeks", "-o", "/dev/null", "--wrap", "true")
	require.True(t, taken)
	rubbish, taken := submitAsNobody(t, l, "-p", "train", "--begin=uts999999999999999999", "-o", "/dev/null", "--wrap", "true")
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
	cancel(t, l, far, rubbish)
	awaitNothingLeft(t, l)
}

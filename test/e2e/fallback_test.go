//go:build e2e

package e2e

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"slurmflex/test/lab"
)

// falling is a cluster in which jobs move on after a minute, with job_submit.lua.
func falling(t *testing.T) *lab.Lab {
	t.Helper()
	l := cluster(t, lab.Options{Daemon: true, FlexKeys: "fallback_after: 60"})
	_, err := l.Flex(context.Background(), "config", "lua", "job_submit", "--output", luaFile(l))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(l.Conf(), []byte(readFile(l.Conf())+"\nJobSubmitPlugins=lua\n"), 0o644))
	reconfigure(t, l)
	return l
}

func TestAJobMovesToTheNextPartitionOfItsListAndRunsThere(t *testing.T) {
	l := falling(t)
	shut(t, l)
	capacity(t, l, "g2-standard-48", 4)
	id := submit(t, l, "-p", "train,fixed", "-N1", "--time=15")
	awaitRequest(t, l, "alpha-a3-job-"+id)
	assert.Contains(t, jobField(t, l, id, "AdminComment"), "[partitions train,fixed]")
	awaitJob(t, l, 3*time.Minute, id, "Partition", "fixed")
	awaitCompleted(t, l, id)
	assert.Equal(t, "fixed", jobField(t, l, id, "Partition"))
	assert.Equal(t, "1", jobField(t, l, id, "Restarts"))
	assert.Regexp(t, `\[partitions train,fixed; moved to fixed after 1m\d*s? in train at `, jobField(t, l, id, "AdminComment"))
	assert.Contains(t, metrics(t, l), `slurmflex_fallbacks_total{partition="fixed"} 1`+"\n")
	awaitNothingLeft(t, l)
}

func TestAJobThatGetsNothingAnywhereHasItsWholeListAgain(t *testing.T) {
	l := falling(t)
	shut(t, l)
	id := submit(t, l, "-p", "train,fixed", "-N1", "--time=15")
	awaitJob(t, l, 3*time.Minute, id, "Partition", "fixed")
	awaitJob(t, l, 3*time.Minute, id, "Partition", "train")
	awaitTold(t, l, time.Minute, id, `\[partitions train,fixed; moved to train,fixed after 1m\d*s? in fixed at `)
	assert.Equal(t, "2", jobField(t, l, id, "Restarts"))
	update(t, l, "nodename=alpha-a3-[0-7]", "state=power_down_force", "reason=test")
	awaitJob(t, l, time.Minute, id, "Partition", "train,fixed")
	cancelForGood(t, l, id)
}

// Slurm checks no limit of a partition when root moves a job there.
func TestAJobDoesNotMoveWhereItCouldNotHaveRun(t *testing.T) {
	l := falling(t)
	shut(t, l)
	for limit, why := range map[string]string{
		"maxtime=5":          "its time limit is longer than the MaxTime of partition fixed",
		"allowgroups=daemon": "partition fixed sets AllowGroups, which slurmflex does not check for a job",
	} {
		update(t, l, "partitionname=fixed", limit)
		id := submit(t, l, "-p", "train,fixed", "-N1", "--time=15")
		require.NoError(t, l.StopDaemon()) // which has read the partitions
		require.NoError(t, l.StartDaemon(context.Background()))
		awaitTold(t, l, 3*time.Minute, id, `; it stays in partition train: `+why)
		assert.Equal(t, "train", jobField(t, l, id, "Partition"))
		assert.Equal(t, "0", jobField(t, l, id, "Restarts"))
		cancelForGood(t, l, id)
		update(t, l, "partitionname=fixed", "maxtime=60", "allowgroups=ALL")
	}
}

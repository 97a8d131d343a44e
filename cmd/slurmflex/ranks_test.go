package main

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"slurmflex/flex/view"
	"slurmflex/test/fakegce"
)

func TestRanksPrintsEachNodeOncePerTask(t *testing.T) {
	w := newWorld(t)
	w.cloud.SetCapacity("", "", 0)
	w.waiting(t)
	w.flex(t, "sync").exits(t, exitDone)
	r := w.flex(t, "ranks", "812").exits(t, exitDone)
	assert.Equal(t, "alpha-a3-0\nalpha-a3-1\n", r.stdout.String(), "before the machines exist")
	assert.Equal(t, "Compute does not show where alpha-a3-[0-1] is; last in the order\n", r.stderr.String())

	w.cloud.SetCapacity("", "", -1)
	w.cloud.Advance(fakegce.DefaultAttemptInterval)
	var story view.Story
	require.NoError(t, json.Unmarshal(w.flex(t, "why", "--json", "812").exits(t, exitDone).stdout.Bytes(), &story))
	require.Len(t, story.Hosts, 2)
	first, second := story.Hosts[0], story.Hosts[1]
	assert.LessOrEqual(t, first.Block+first.Subblock+first.Host, second.Block+second.Subblock+second.Host)
	r = w.flex(t, "ranks", "--tasks-per-node", "2", "812").exits(t, exitDone)
	assert.Equal(t, first.Node+"\n"+first.Node+"\n"+second.Node+"\n"+second.Node+"\n", r.stdout.String())
	assert.Empty(t, r.stderr.String())
	assert.Contains(t, w.flex(t, "why", "--nodes", "812").exits(t, exitDone).stdout.String(), "  "+first.Node+"  "+first.Cluster+"  ")

	w.flex(t, "ranks", "99").exits(t, exitFailed).complains(t, "job 99 is not in Slurm's queue")
}

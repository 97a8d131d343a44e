package main

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"slurmflex/config"
	"slurmflex/flex"
	"slurmflex/flex/leader"
	"slurmflex/slurm/scontrol"
	"slurmflex/test/scenetest"
)

// silent is a Slurm that fails. Nothing closes its partitions.
func silent(err error) func(context.Context) error {
	return func(context.Context) error { return err }
}

func downOf(change func(*down)) *down {
	d := &down{
		in:    strings.NewReader("alpha\n"),
		Down:  flex.Down{R: &flex.Reconciler{Config: scenetest.Cluster("", scenetest.FlexSet("a3", "us-central1-a", "node_count_dynamic_max: 1", ""))}},
		reach: silent(errors.New("scontrol: no such file or directory")), yes: true,
	}
	change(d)
	return d
}

func TestDownStopsBeforeItChangesAnything(t *testing.T) {
	gone := silent(scontrol.ErrNoController)
	for says, c := range map[string]struct {
		change func(*down)
		usage  bool
	}{
		`unknown flex-start nodeset "b3"`:                                        {func(d *down) { d.Options.NodeSet = "b3" }, true},
		"no terminal to ask for the cluster's name":                              {func(d *down) { d.yes = false }, true},
		"nothing done, because Slurm could not be read":                          {func(d *down) { d.now = true }, false},
		"to take down a cluster without slurmctld: slurmflex down --now":         {func(d *down) { d.reach = gone }, false},
		"slurmctld does not answer; to take down a cluster without slurmctld: s": {func(d *down) { d.reach, d.drain, d.dryRun = gone, true, true }, false},
	} {
		err := downOf(c.change).run(t.Context())
		require.ErrorContains(t, err, says)
		assert.Equal(t, c.usage, config.IsMisuse(err), says)
	}
}

func TestDownNowLeavesOutASlurmThatDoesNotAnswer(t *testing.T) {
	d := downOf(func(d *down) { d.reach, d.now = silent(scontrol.ErrNoController), true })
	d.Lock = leader.Lock{Permission: &leader.Permission{}}
	require.NoError(t, d.findSlurm(t.Context()))
	assert.True(t, d.Options.NoSlurm)
	assert.Nil(t, d.Lock.Permission)
}

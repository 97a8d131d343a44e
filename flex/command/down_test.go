package command

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
	"slurmflex/flex/takedown"
	"slurmflex/slurm/scontrol"
	"slurmflex/test/scenetest"
)

// silent is a Slurm that fails. Its partitions must not be closed.
type silent struct{ err error }

func (s silent) Reach(context.Context) error { return s.err }

func (s silent) ClosePartition(context.Context, string) error { panic("a partition is closed") }

func down(change func(*Down)) *Down {
	d := &Down{
		Terminal: Terminal{In: strings.NewReader("alpha\n"), Out: &strings.Builder{}},
		R:        &flex.Reconciler{Config: scenetest.Cluster("", scenetest.FlexSet("a3", "us-central1-a", "node_count_dynamic_max: 1", ""))},
		Slurm:    silent{errors.New("scontrol: no such file or directory")}, Yes: true,
	}
	change(d)
	return d
}

func TestDownStopsBeforeItChangesAnything(t *testing.T) {
	gone := silent{scontrol.ErrNoController}
	for says, c := range map[string]struct {
		change func(*Down)
		usage  bool
	}{
		`unknown flex-start nodeset "b3"`:                                        {func(d *Down) { d.NodeSet = "b3" }, true},
		"no terminal to ask for the cluster's name":                              {func(d *Down) { d.Yes = false }, true},
		"nothing done, because Slurm could not be read":                          {func(d *Down) { d.Now = true }, false},
		"to take down a cluster without slurmctld: slurmflex down --now":         {func(d *Down) { d.Slurm = gone }, false},
		"slurmctld does not answer; to take down a cluster without slurmctld: s": {func(d *Down) { d.Slurm, d.Drain, d.DryRun = gone, true, true }, false},
	} {
		err := down(c.change).Run(t.Context())
		require.ErrorContains(t, err, says)
		assert.Equal(t, c.usage, config.IsMisuse(err), says)
	}
}

func TestDownNowLeavesOutASlurmThatDoesNotAnswer(t *testing.T) {
	d := down(func(d *Down) { d.Slurm, d.Now = silent{scontrol.ErrNoController}, true })
	tearDown := &flex.Down{Lock: leader.Lock{Permission: &leader.Permission{}}}
	require.NoError(t, d.findSlurm(t.Context(), tearDown))
	assert.True(t, tearDown.Options.NoSlurm)
	assert.Nil(t, tearDown.Lock.Permission)
}

func TestOnlyTheClustersNameConfirms(t *testing.T) {
	assert.NoError(t, down(func(*Down) {}).confirm(t.Context(), takedown.Plan{}))
	wrong := down(func(d *Down) { d.In = strings.NewReader("beta\n") })
	assert.EqualError(t, wrong.confirm(t.Context(), takedown.Plan{}), "nothing done: the cluster's name is alpha")
}

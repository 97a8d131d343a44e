package scontrol

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"slurmflex/slurm"
)

func TestEveryCommandIsObservedWithoutWhatItIsAbout(t *testing.T) {
	c := newClient(t, dummy{Stderr: "slurm_update error: Invalid node name specified", Exit: 1})
	core, log := observer.New(zap.DebugLevel)
	var seen []string
	c.Log = zap.New(core)
	succeeds := newClient(t, dummy{Stdout: "slurm 22.05.8\n"})
	c.Observe = func(command string, took time.Duration, err error) {
		assert.Positive(t, took)
		seen = append(seen, fmt.Sprintf("%s: %t", command, err == nil))
	}
	_, _ = c.Nodes(t.Context())
	_, _ = c.Jobs(t.Context())
	_, _ = c.Version(t.Context())
	_, _ = c.Controllers(t.Context())
	_ = c.UpdateNodes(t.Context(), []string{"alpha-a3-0"}, slurm.NodeChange{State: "resume"})
	succeeds.Observe = c.Observe
	_, err := succeeds.Version(t.Context())
	require.NoError(t, err)
	assert.Equal(t, []string{
		"scontrol show nodes: false", "squeue: false", "scontrol: false", "scontrol ping: false", "scontrol update: false", "scontrol: true",
	}, seen)
	entries := log.All()
	require.Len(t, entries, 5)
	assert.Equal(t, "scontrol update nodename=alpha-a3-0 state=resume", entries[4].ContextMap()["command"])
	assert.Contains(t, entries[4].ContextMap()["error"], "Invalid node name specified")
}

package scontrol

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"slurmflex/slurm"
)

func TestCommandsInheritOnlySlurmConf(t *testing.T) {
	t.Setenv("SQUEUE_FORMAT", "%i")
	t.Setenv("SLURM_TIME_FORMAT", "relative")
	c := newClient(t, dummy{})
	conf := c.Conf
	for _, told := range []string{conf, ""} {
		c.Conf = told
		_, err := c.Jobs(t.Context())
		require.NoError(t, err)
		t.Setenv("SLURM_CONF", conf)
	}
	for _, call := range calls(t, c) {
		require.ElementsMatch(t, []string{"PATH=/usr/bin:/bin", "LC_ALL=C", "TZ=UTC", "SLURM_CONF=" + conf}, call.Env)
	}
	require.Len(t, calls(t, c), 2)
}

func TestFailedCommandIsKilledWithItsChildren(t *testing.T) {
	for want, command := range map[string]dummy{
		"scontrol -V: ended, but left its output open":  {Leave: true, Stdout: "slurm 22.05.8\n"},
		"scontrol -V: more than 100000 bytes of output": {Flood: true},
	} {
		c := newClient(t, command)
		c.Timeout, c.MaxOutput = time.Minute, 100_000
		_, err := c.Version(t.Context())
		require.EqualError(t, err, want)
		for _, call := range awaitCalls(t, c, map[bool]int{true: 1, false: 2}[command.Flood]) {
			requireGone(t, call.PID)
		}
	}
}

func TestHangingCommandIsKilledWithItsChildren(t *testing.T) {
	for limit := 2 * time.Second; ; limit *= 2 {
		c := newClient(t, dummy{Hang: true, Stderr: "scontrol: error: retrying\n"})
		c.Timeout = limit
		_, err := c.Version(t.Context())
		running := calls(t, c)
		if len(running) < 2 && limit < time.Minute {
			continue // on a busy machine, the command may not have started within the limit
		}
		require.EqualError(t, err, fmt.Sprintf("scontrol -V: no answer within %s: retrying", limit))
		require.ErrorIs(t, err, ErrNoController)
		require.Len(t, running, 2)
		for _, call := range running {
			requireGone(t, call.PID)
		}
		return
	}
}

func TestCommandEndsWithItsContext(t *testing.T) {
	c := newClient(t, dummy{Hang: true})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() {
		_, err := c.Nodes(ctx)
		done <- err
	}()
	running := awaitCalls(t, c, 2)
	cancel()
	err := <-done
	require.ErrorIs(t, err, context.Canceled)
	require.NotErrorIs(t, err, ErrNoController)
	for _, call := range running {
		requireGone(t, call.PID)
	}
}

func TestAtMostTwoCommandsRunAtOnce(t *testing.T) {
	c := newClient(t, dummy{Hang: true})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	for range maxChildren {
		go func() {
			_, err := c.Nodes(ctx)
			done <- err
		}()
	}
	awaitCalls(t, c, 2*maxChildren) // each command has started a process of its own

	impatient, giveUp := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer giveUp()
	_, err := c.Version(impatient)
	require.EqualError(t, err, "scontrol -V: context deadline exceeded")
	require.Len(t, calls(t, c), 2*maxChildren, "the third did not start")

	cancel()
	for range maxChildren {
		require.ErrorIs(t, <-done, context.Canceled)
	}
}

func TestErrorForAMissingCommandNamesTheSetting(t *testing.T) {
	c := &Client{BinDir: "/nonexistent/bin"}
	_, err := c.Version(t.Context())
	require.EqualError(t, err, "scontrol -V: fork/exec /nonexistent/bin/scontrol: no such file or directory: is slurm_bin_dir the folder of scontrol and squeue?")
}

func TestUsualFoldersAreSearchedForCommands(t *testing.T) {
	empty, first, second := t.TempDir(), t.TempDir(), t.TempDir()
	for _, path := range []string{filepath.Join(first, "squeue"), filepath.Join(second, "squeue"), filepath.Join(second, "scontrol")} {
		require.NoError(t, os.WriteFile(path, nil, 0o755))
	}
	folders := []string{empty, first, second}
	require.Equal(t, first, folderOf("squeue", folders))
	require.Equal(t, second, folderOf("scontrol", folders))
	require.Equal(t, empty, folderOf("scancel", folders), "an error names it")
}

func TestCommandFolderMustBeAnAbsolutePath(t *testing.T) {
	_, err := (&Client{BinDir: "./bin"}).Nodes(t.Context())
	require.ErrorContains(t, err, "is not an absolute path")
}

func TestObserveGetsCommandNamesWithoutObjects(t *testing.T) {
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
	_ = c.UpdateNodes(t.Context(), []string{"alpha-a3-0"}, slurm.NodeChange{State: "resume"})
	succeeds.Observe = c.Observe
	_, err := succeeds.Version(t.Context())
	require.NoError(t, err)
	assert.Equal(t, []string{"scontrol show nodes: false", "squeue: false", "scontrol update: false", "scontrol: true"}, seen)
	entries := log.All()
	require.Len(t, entries, 3)
	assert.Equal(t, "scontrol update nodename=alpha-a3-0 state=resume", entries[2].ContextMap()["command"])
	assert.Contains(t, entries[2].ContextMap()["error"], "Invalid node name specified")
}

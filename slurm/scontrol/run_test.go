package scontrol

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestCommandsGetACleanEnvironmentAndInheritSlurmConfUnlessToldOtherwise(t *testing.T) {
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

func TestACommandThatDoesNotEndWellIsKilledWithAllItStarted(t *testing.T) {
	for want, command := range map[string]dummy{
		"scontrol -V: no answer within 2s: retrying":    {Hang: true, Stderr: "scontrol: error: retrying\n"},
		"scontrol -V: ended, but left its output open":  {Leave: true, Stdout: "slurm 22.05.8\n"},
		"scontrol -V: more than 100000 bytes of output": {Flood: true},
	} {
		c := newClient(t, command)
		c.Timeout, c.MaxOutput = 2*time.Second, 100_000
		_, err := c.Version(t.Context())
		require.EqualError(t, err, want)
		for _, call := range awaitCalls(t, c, map[bool]int{true: 1, false: 2}[command.Flood]) {
			requireGone(t, call.PID)
		}
	}
}

func TestACommandEndsWithItsContext(t *testing.T) {
	c := newClient(t, dummy{Hang: true})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() {
		_, err := c.Nodes(ctx)
		done <- err
	}()
	running := awaitCalls(t, c, 2)
	cancel()
	require.ErrorIs(t, <-done, context.Canceled)
	for _, call := range running {
		requireGone(t, call.PID)
	}
}

func TestOutputUpToTheLimitIsRead(t *testing.T) {
	out := "slurm 22.05.8\n"
	c := newClient(t, dummy{Stdout: out})
	c.MaxOutput = int64(len(out))
	_, err := c.Version(t.Context())
	require.NoError(t, err)
	c.MaxOutput--
	_, err = c.Version(t.Context())
	require.EqualError(t, err, "scontrol -V: more than 13 bytes of output")
}

func TestNoMoreThanTwoCommandsRunAtOnce(t *testing.T) {
	c := newClient(t, dummy{Hang: true})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	for range maxChildren {
		go func() {
			_, err := c.Nodes(ctx)
			done <- err
		}()
	}
	awaitCalls(t, c, 2*maxChildren) // each has started a process of its own

	impatient, giveUp := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer giveUp()
	_, err := c.Version(impatient)
	require.EqualError(t, err, "scontrol -V: context deadline exceeded")
	require.Len(t, calls(t, c), 2*maxChildren, "the third has not been started")

	cancel()
	for range maxChildren {
		require.ErrorIs(t, <-done, context.Canceled)
	}
}

func TestAMissingCommandNamesTheSetting(t *testing.T) {
	c := &Client{BinDir: "/nonexistent/bin"}
	_, err := c.Version(t.Context())
	require.EqualError(t, err, "scontrol -V: fork/exec /nonexistent/bin/scontrol: no such file or directory: is slurm_bin_dir the folder of scontrol and squeue?")

	plainFile := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(plainFile, "scontrol"), nil, 0o600))
	_, err = (&Client{BinDir: plainFile}).Version(t.Context())
	require.ErrorContains(t, err, "permission denied: is slurm_bin_dir the folder of scontrol and squeue?")
}

func TestACommandIsLookedForInTheUsualFolders(t *testing.T) {
	empty, first, second := t.TempDir(), t.TempDir(), t.TempDir()
	for _, path := range []string{filepath.Join(first, "squeue"), filepath.Join(second, "squeue"), filepath.Join(second, "scontrol")} {
		require.NoError(t, os.WriteFile(path, nil, 0o755))
	}
	folders := []string{empty, first, second}
	require.Equal(t, first, folderOf("squeue", folders))
	require.Equal(t, second, folderOf("scontrol", folders))
	require.Equal(t, empty, folderOf("scancel", folders), "an error names it")
}

func TestTheFolderOfTheCommandsIsAnAbsolutePath(t *testing.T) {
	for _, dir := range []string{"bin", "./bin"} {
		_, err := (&Client{BinDir: dir}).Nodes(t.Context())
		require.ErrorContains(t, err, "is no absolute path")
	}
}

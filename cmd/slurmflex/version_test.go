package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestVersionNamesItsSources(t *testing.T) {
	r := prepare(t, nil, os.Args[0], "version").exits(exitDone)
	assert.Regexp(t, `^slurmflex \S+
commit    \S.*
date      \S+
go        go1\.\d\S* \w+/\w+
compute   cloud\.google\.com/go/compute v1\.\d+\.\d+
$`, r.stdout.String())
}

func TestRepositoryBuildKnowsItsCommit(t *testing.T) {
	switch folder, err := os.Stat("../../.git"); {
	case err != nil:
		t.Skip("not a repository: ", err)
	case !folder.IsDir():
		t.Skip("Go does not look for the commit in a linked worktree")
	}
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("Go asks git for the commit: ", err)
	}
	program := filepath.Join(t.TempDir(), "slurmflex")
	// The flags and environment of make build, so that Go reuses its packages.
	build := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-buildvcs=true", "-o", program, ".")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	out, err := build.CombinedOutput()
	require.NoError(t, err, "%s", out)
	out, err = exec.CommandContext(t.Context(), program, "version").Output()
	require.NoError(t, err)
	assert.Regexp(t, `(?m)^slurmflex v\d+\.\d+\.\d+\S*$`, string(out))
	assert.Regexp(t, `(?m)^commit    [0-9a-f]{40}(, modified)?$`, string(out))
	assert.Regexp(t, `(?m)^date      20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ$`, string(out))
}

func TestVersionFlagPrintsTheCommandsOutput(t *testing.T) {
	flag := prepare(t, nil, os.Args[0], "--version").exits(exitDone)
	command := prepare(t, nil, os.Args[0], "version").exits(exitDone)
	assert.Equal(t, command.stdout.String(), flag.stdout.String())
}

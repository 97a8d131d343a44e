package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"slurmflex/flex/view"
)

func TestVersionNamesWhatItWasBuiltOf(t *testing.T) {
	r := prepare(t, nil, os.Args[0], "version").exits(t, exitDone)
	assert.Regexp(t, `^slurmflex \S+
commit    \S.*
date      \S+
go        go1\.\d\S* \w+/\w+
compute   cloud\.google\.com/go/compute v1\.\d+\.\d+
$`, r.stdout.String())
}

func TestABuildOfACommit(t *testing.T) {
	info := &debug.BuildInfo{
		GoVersion: "go1.26.8", Main: debug.Module{Path: "slurmflex", Version: "v1.2.0"},
		Deps: []*debug.Module{{Path: "cloud.google.com/go/auth", Version: "v0.24.1"}, {Path: computeModule, Version: "v1.72.0"}},
		Settings: []debug.BuildSetting{
			{Key: "GOOS", Value: "linux"},
			{Key: "GOARCH", Value: "arm64"},
			{Key: "vcs.revision", Value: "6a815ea448d532a66fb3d62d6a5e9d4f8f27cf63"},
			{Key: "vcs.time", Value: "2026-11-21T13:26:06Z"},
			{Key: "vcs.modified", Value: "false"},
		},
	}
	assert.Equal(t, `slurmflex v1.2.0
commit    6a815ea448d532a66fb3d62d6a5e9d4f8f27cf63
date      2026-11-21T13:26:06Z
go        go1.26.8 linux/arm64
compute   cloud.google.com/go/compute v1.72.0
`, buildOf(info).String())
	info.Settings[4].Value = "true"
	assert.Contains(t, buildOf(info).String(), "commit    6a815ea448d532a66fb3d62d6a5e9d4f8f27cf63, modified\n")
}

func TestABuildThatSaysNothingIsUnknown(t *testing.T) {
	assert.Equal(t, build{
		Envelope: view.EnvelopeOf("version"), Version: "unknown", Commit: "unknown", Date: "unknown", Go: "unknown", Platform: "unknown/unknown", Compute: "unknown",
	}, buildOf(&debug.BuildInfo{}))
}

func TestTheBuildOfARepositoryKnowsItsCommit(t *testing.T) {
	switch folder, err := os.Stat("../../.git"); {
	case err != nil:
		t.Skip("this is no repository: ", err)
	case !folder.IsDir():
		t.Skip("Go does not look for the commit in a linked worktree")
	}
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("Go asks git for the commit: ", err)
	}
	program := filepath.Join(t.TempDir(), "slurmflex")
	out, err := exec.CommandContext(t.Context(), "go", "build", "-buildvcs=true", "-o", program, ".").CombinedOutput()
	require.NoError(t, err, "%s", out)
	out, err = exec.CommandContext(t.Context(), program, "version").Output()
	require.NoError(t, err)
	assert.Regexp(t, `(?m)^slurmflex v\d+\.\d+\.\d+\S*$`, string(out))
	assert.Regexp(t, `(?m)^commit    [0-9a-f]{40}(, modified)?$`, string(out))
	assert.Regexp(t, `(?m)^date      20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ$`, string(out))
}

func TestTheFlagPrintsWhatTheCommandDoes(t *testing.T) {
	flag := prepare(t, nil, os.Args[0], "--version").exits(t, exitDone)
	command := prepare(t, nil, os.Args[0], "version").exits(t, exitDone)
	assert.Equal(t, command.stdout.String(), flag.stdout.String())
}

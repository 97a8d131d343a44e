package view

import (
	"runtime/debug"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestBuildDescribesACommit(t *testing.T) {
	info := &debug.BuildInfo{
		GoVersion: "go1.26.8", Main: debug.Module{Path: "slurmflex", Version: "v1.2.0"},
		Deps: []*debug.Module{{Path: "cloud.google.com/go/auth", Version: "v0.24.1"}, {Path: ComputeModule, Version: "v1.72.0"}},
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
`, BuildOf(info).String())
	info.Settings[4].Value = "true"
	assert.Contains(t, BuildOf(info).String(), "commit    6a815ea448d532a66fb3d62d6a5e9d4f8f27cf63, modified\n")
}

func TestBuildWithoutInformationIsUnknown(t *testing.T) {
	assert.Equal(t, Build{
		Envelope: EnvelopeOf("version"), Version: "unknown", Commit: "unknown", Date: "unknown", Go: "unknown", Platform: "unknown/unknown", Compute: "unknown",
	}, BuildOf(&debug.BuildInfo{}))
}

package view

import (
	"regexp"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"slurmflex/test/must"
)

func TestBuildDescribesACommit(t *testing.T) {
	info := &debug.BuildInfo{
		GoVersion: "go1.26.8", Main: debug.Module{Path: "slurmflex"},
		Deps: []*debug.Module{{Path: "cloud.google.com/go/auth", Version: "v0.24.1"}, {Path: ComputeModule, Version: "v1.72.0"}},
		Settings: []debug.BuildSetting{
			{Key: "GOOS", Value: "linux"},
			{Key: "GOARCH", Value: "arm64"},
			{Key: "vcs.revision", Value: "6a815ea448d532a66fb3d62d6a5e9d4f8f27cf63"},
			{Key: "vcs.time", Value: "2026-11-21T13:26:06Z"},
			{Key: "vcs.modified", Value: "false"},
		},
	}
	assert.Equal(t, `slurmflex `+Version+`
commit    6a815ea448d532a66fb3d62d6a5e9d4f8f27cf63
date      2026-11-21T13:26:06Z
go        go1.26.8 linux/arm64
compute   cloud.google.com/go/compute v1.72.0
`, BuildOf(info).String())
	info.Settings[4].Value = "true"
	assert.Contains(t, BuildOf(info).String(), "commit    6a815ea448d532a66fb3d62d6a5e9d4f8f27cf63, modified\n")
}

func TestChangelogStartsWithTheVersion(t *testing.T) {
	changelog := must.Text("../../CHANGELOG.md")
	_, entries, _ := strings.Cut(changelog, "\n## ")
	assert.Regexp(t, `^`+regexp.QuoteMeta(Version)+` \((unreleased|\d{4}-\d\d-\d\d)\)\n`, entries, "the newest entry describes Version")
}

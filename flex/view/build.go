package view

import (
	"cmp"
	"fmt"
	"runtime/debug"
)

// Version is the version of slurmflex: the released one at its tag, elsewhere the next one. Packages and
// archives take it from here.
const Version = "v0.3.0"

// ComputeModule is the client for the Compute API.
const ComputeModule = "cloud.google.com/go/compute"

// Build describes the sources of a program. Unknown parts are "unknown".
type Build struct {
	Envelope
	Version  string `json:"version"`
	Commit   string `json:"commit"`
	Modified bool   `json:"modified"` // the sources had uncommitted changes
	Date     string `json:"date"`     // of the commit, RFC 3339, UTC
	Go       string `json:"go"`
	Platform string `json:"platform"` // for example linux/amd64
	Compute  string `json:"compute"`  // version of ComputeModule
}

// BuildOf returns the build that info describes.
func BuildOf(info *debug.BuildInfo) Build {
	settings := map[string]string{}
	for _, s := range info.Settings {
		settings[s.Key] = s.Value
	}
	known := func(s string) string { return cmp.Or(s, "unknown") }
	b := Build{
		Envelope: EnvelopeOf("version"),
		Version:  Version,
		Commit:   known(settings["vcs.revision"]),
		Date:     known(settings["vcs.time"]),
		Go:       known(info.GoVersion),
		Platform: known(settings["GOOS"]) + "/" + known(settings["GOARCH"]),
		Compute:  "unknown",
		Modified: settings["vcs.modified"] == "true",
	}
	for _, m := range info.Deps {
		if m.Path == ComputeModule {
			b.Compute = m.Version
		}
	}
	return b
}

// String formats the build, one line per part.
func (b Build) String() string {
	commit := b.Commit
	if b.Modified {
		commit += ", modified"
	}
	return fmt.Sprintf("slurmflex %s\n"+
		"commit    %s\n"+
		"date      %s\n"+
		"go        %s %s\n"+
		"compute   %s %s\n", b.Version, commit, b.Date, b.Go, b.Platform, ComputeModule, b.Compute)
}

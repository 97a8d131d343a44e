package main

import (
	"cmp"
	"fmt"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"

	"slurmflex/flex/view"
)

func newVersion() *cobra.Command {
	asJSON := false
	cmd := &cobra.Command{
		Use: "version", Short: "Print the version, its commit and how it was built", GroupID: "ask", Args: noArguments,
		Long: `Print the version, the commit that it was built from and the date of that commit,
the Go version, and the version of the Compute API client.`,
		Example: "  slurmflex version",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return write(cmd.OutOrStdout(), asJSON, thisBuild())
		},
	}
	jsonFlag(cmd, &asJSON)
	return cmd
}

// computeModule is the client for the Compute API.
const computeModule = "cloud.google.com/go/compute"

// build is what a program was built from. What is not known is "unknown".
type build struct {
	view.Envelope
	Version  string `json:"version"` // of the module: a tag, or one made of the commit
	Commit   string `json:"commit"`
	Modified bool   `json:"modified"` // there were changes that are not in the commit
	Date     string `json:"date"`     // of the commit, RFC 3339, UTC
	Go       string `json:"go"`
	Platform string `json:"platform"` // such as linux/amd64
	Compute  string `json:"compute"`  // version of computeModule
}

// thisBuild is what this program was built from.
func thisBuild() build {
	info, ok := debug.ReadBuildInfo()
	if !ok { // built without module support
		info = &debug.BuildInfo{}
	}
	return buildOf(info)
}

func buildOf(info *debug.BuildInfo) build {
	settings := map[string]string{}
	for _, s := range info.Settings {
		settings[s.Key] = s.Value
	}
	known := func(s string) string { return cmp.Or(s, "unknown") }
	b := build{
		Envelope: view.EnvelopeOf("version"),
		Version:  known(info.Main.Version),
		Commit:   known(settings["vcs.revision"]),
		Date:     known(settings["vcs.time"]),
		Go:       known(info.GoVersion),
		Platform: known(settings["GOOS"]) + "/" + known(settings["GOARCH"]),
		Compute:  "unknown",
		Modified: settings["vcs.modified"] == "true",
	}
	for _, m := range info.Deps {
		if m.Path == computeModule {
			b.Compute = m.Version
		}
	}
	return b
}

func (b build) String() string {
	var text strings.Builder
	commit := b.Commit
	if b.Modified {
		commit += ", modified"
	}
	fmt.Fprintf(&text, "slurmflex %s\n", b.Version)
	fmt.Fprintf(&text, "commit    %s\n", commit)
	fmt.Fprintf(&text, "date      %s\n", b.Date)
	fmt.Fprintf(&text, "go        %s %s\n", b.Go, b.Platform)
	fmt.Fprintf(&text, "compute   %s %s\n", computeModule, b.Compute)
	return text.String()
}

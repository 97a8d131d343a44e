package main

import (
	"fmt"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"
)

func newVersion() *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the version, its commit and how it was built", GroupID: "ask", Args: noArguments,
		Long: `Print the version, the commit that it was built from and the date of that commit,
the Go version, and the version of the Compute API client.`,
		Example: "  slurmflex version",
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := fmt.Fprint(cmd.OutOrStdout(), thisBuild())
			return err
		},
	}
}

// computeModule is the client for the Compute API.
const computeModule = "cloud.google.com/go/compute"

// build is what a program was built from. What is not known is "unknown".
type build struct {
	version  string // of the module: a tag, or one made of the commit
	commit   string
	date     string // of the commit, RFC 3339, UTC
	goTool   string
	platform string // such as linux/amd64
	compute  string // version of computeModule
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
	known := func(s string) string {
		if s == "" {
			return "unknown"
		}
		return s
	}
	b := build{
		version:  known(info.Main.Version),
		commit:   known(settings["vcs.revision"]),
		date:     known(settings["vcs.time"]),
		goTool:   known(info.GoVersion),
		platform: known(settings["GOOS"]) + "/" + known(settings["GOARCH"]),
		compute:  "unknown",
	}
	if settings["vcs.modified"] == "true" {
		b.commit += ", modified"
	}
	for _, m := range info.Deps {
		if m.Path == computeModule {
			b.compute = m.Version
		}
	}
	return b
}

func (b build) String() string {
	var text strings.Builder
	fmt.Fprintf(&text, "slurmflex %s\n", b.version)
	fmt.Fprintf(&text, "commit    %s\n", b.commit)
	fmt.Fprintf(&text, "date      %s\n", b.date)
	fmt.Fprintf(&text, "go        %s %s\n", b.goTool, b.platform)
	fmt.Fprintf(&text, "compute   %s %s\n", computeModule, b.compute)
	return text.String()
}

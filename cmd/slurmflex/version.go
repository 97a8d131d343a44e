package main

import (
	"runtime/debug"

	"github.com/spf13/cobra"

	"slurmflex/flex/view"
)

func newVersion() *cobra.Command {
	cmd := &cobra.Command{
		Use: "version", Short: "Print the version, its commit and how it was built", GroupID: "ask", Args: noArguments,
		Long: `Print the version, the commit that it was built from and the date of that commit,
the Go version, and the version of the Compute API client.`,
		Example: "  slurmflex version",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return show(cmd, thisBuild())
		},
	}
	jsonFlag(cmd)
	return cmd
}

// thisBuild returns the build information of this program.
func thisBuild() view.Build {
	info, ok := debug.ReadBuildInfo()
	if !ok { // built without module support
		info = &debug.BuildInfo{}
	}
	return view.BuildOf(info)
}

package main

import (
	"context"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"

	"slurmflex/flex"
)

func newPlan(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "plan", Short: "Say what a round would do and why, and change nothing", GroupID: "ask", Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.withReconciler(cmd.Context(), func(ctx context.Context, r *flex.Reconciler) error {
				return a.printPlan(ctx, cmd.OutOrStdout(), r)
			})
		},
	}
}

func (a *app) printPlan(ctx context.Context, w io.Writer, r *flex.Reconciler, only ...flex.Filter) error {
	over := a.foot.begin("looking at Slurm and Compute")
	p, err := r.Plan(ctx, only...)
	over()
	if err != nil {
		return err
	}
	var text strings.Builder
	for _, action := range p.Actions {
		fmt.Fprintf(&text, "%s\n    because %s\n", action, action.Because())
	}
	if len(p.Actions) == 0 {
		fmt.Fprintln(&text, "nothing to do")
	}
	for _, problem := range p.Problems {
		fmt.Fprintln(&text, "problem:", problem)
	}
	_, err = io.WriteString(w, text.String())
	return err
}

func newVersion() *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the version", GroupID: "ask", Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := fmt.Fprintf(cmd.OutOrStdout(), "slurmflex %s %s %s/%s\n", version(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
			return err
		},
	}
}

// version is the module's version or the commit that the build was made of.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "(unknown)"
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" && len(s.Value) >= 12 {
			return s.Value[:12]
		}
	}
	return info.Main.Version
}

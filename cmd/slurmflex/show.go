package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"slurmflex/config"
	"slurmflex/flex"
	"slurmflex/mig"
)

func newPlan(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "plan", Short: "Say what a round would do and why, and change nothing", GroupID: "ask", Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.withReconciler(cmd.Context(), func(ctx context.Context, r *flex.Reconciler) error {
				return printPlan(ctx, cmd.OutOrStdout(), r)
			})
		},
	}
}

func printPlan(ctx context.Context, w io.Writer, r *flex.Reconciler, only ...flex.Filter) error {
	p, err := r.Plan(ctx, only...)
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

func newStatus(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "status", Short: "Show groups, requests, nodes and their jobs", GroupID: "ask", Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.withReconciler(cmd.Context(), func(ctx context.Context, r *flex.Reconciler) error {
				snap, err := r.Observe(ctx)
				if err != nil {
					return err
				}
				return flex.WriteStatus(cmd.OutOrStdout(), r.Config, snap)
			})
		},
	}
}

func newConfig(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use: "config", Short: "Check the configuration", GroupID: "ask",
		Args: onlyCommands,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(&cobra.Command{
		Use: "check", Short: "Say what is wrong with the configuration, and what of it is ignored", Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := a.config()
			if err != nil {
				return err
			}
			if err := a.checkPlacement(cmd.Context(), cmd.ErrOrStderr(), cfg); err != nil {
				return err
			}
			return writeCheck(cmd.OutOrStdout(), a.configPath, cfg)
		},
	})
	return cmd
}

// checkPlacement holds the nodesets that want their nodes close together against
// the machine types of their templates. What Compute does not tell is only
// mentioned: the file may be checked far from the cluster.
func (a *app) checkPlacement(ctx context.Context, w io.Writer, cfg *config.Config) error {
	var problems config.Problems
	for _, n := range cfg.NodeSets {
		if n.Flex == nil || !n.Placement {
			continue
		}
		t, err := a.template(ctx, cfg, n.Template)
		if err != nil {
			fmt.Fprintf(w, "%s:%d: nodeset.%s.enable_placement: not checked: %v\n", a.configPath, n.Line, n.Name, err)
			continue
		}
		if _, _, ok := mig.PlacementLimit(t.MachineType, n.PlacementDistance); !ok {
			problems = append(problems, config.Problem{
				File: a.configPath, Line: n.Line, Key: "nodeset." + n.Name + ".enable_placement",
				Text: t.MachineType + " machines cannot be placed as close together as that; set it to false",
			})
		}
	}
	if len(problems) > 0 {
		return usageError{problems}
	}
	return nil
}

func writeCheck(w io.Writer, path string, cfg *config.Config) error {
	var errs []error
	say := func(format string, args ...any) {
		_, err := fmt.Fprintf(w, format+"\n", args...)
		errs = append(errs, err)
	}
	for _, i := range cfg.Ignored {
		say("%s:%d: %s: ignored: slurmflex does not use it", path, i.Line, i.Key)
	}
	ours := slices.DeleteFunc(slices.Clone(cfg.NodeSets), func(n *config.NodeSet) bool { return n.Flex == nil })
	say("%s: right: cluster %s, %d nodesets of %d come by flex-start", path, cfg.Cluster, len(ours), len(cfg.NodeSets))
	return errors.Join(errs...)
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

package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"go.uber.org/zap"

	"slurmflex/config"
	"slurmflex/flex/check"
	"slurmflex/flex/view"
)

func newConfig(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use: "config", Short: "Check the configuration, and write what goes with it", GroupID: "ask",
		Long: `Check the configuration, print the part of slurm.conf that goes with it, or say
what to change in a cluster of slurm-gcp's scripts. Nothing is written.`,
		Example: `  slurmflex config check
  slurmflex config slurm-conf`,
		Args: onlyCommands,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newCheck(a), newSlurmConf(a), newFromSlurmGCP(a))
	return cmd
}

func newCheck(a *app) *cobra.Command {
	live, effective := false, false
	cmd := &cobra.Command{
		Use: "check", Short: "Say what is wrong with the configuration, what would be better, and what is ignored",
		Long: `Says what is wrong with the configuration, what would be better ("advice"), and
what of it is ignored, each in a line with its place in the file and its mend.
Nothing is asked and nothing is changed; with --live Slurm and Compute are
asked, and slurm.conf is held against the configuration too.

Exit code: 0 right, be it with advice; 1 something could not be checked; 2 wrong.`,
		Example: `  slurmflex config check
  slurmflex config check --live
  slurmflex --config new.yaml config check --effective`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := a.config()
			if err != nil {
				return err
			}
			if effective {
				text, err := check.Effective(cfg)
				if err != nil {
					return err
				}
				_, err = cmd.OutOrStdout().Write(text)
				return err
			}
			return a.check(cmd.Context(), cmd.OutOrStdout(), cfg, live)
		},
	}
	cmd.Flags().BoolVar(&live, "live", false, "also ask Slurm and Compute, on the controller and as the user that slurmctld runs as")
	cmd.Flags().BoolVar(&effective, "effective", false, "print the configuration as it counts, with all defaults, as YAML")
	cmd.MarkFlagsMutuallyExclusive("live", "effective")
	return cmd
}

// check prints what is to know about the configuration; what is wrong with it
// is the error.
func (a *app) check(ctx context.Context, w io.Writer, cfg *config.Config, live bool) error {
	found := check.Advise(cfg)
	world := ""
	if live {
		seen, err := a.observe(ctx, cfg)
		if err != nil {
			return err
		}
		found = append(found, check.Compare(cfg, seen)...)
		world = "; Slurm and Compute match"
	}
	var text strings.Builder
	for _, f := range append(found.Of(check.Ignored), found.Of(check.Advice)...) {
		fmt.Fprintln(&text, f)
	}
	wrong := found.Of(check.Fault, check.Unread)
	if len(wrong) == 0 {
		fmt.Fprintf(&text, "%s: OK: cluster %s: flex-start in %d of %s%s\n",
			a.configPath, cfg.Cluster, len(cfg.FlexSets()), view.Count(len(cfg.NodeSets), "nodeset"), world)
	}
	if _, err := io.WriteString(w, text.String()); err != nil {
		return err
	}
	switch {
	case len(wrong) == 0:
		return nil
	case len(found.Of(check.Fault)) == 0:
		return wrong.Problems()
	}
	return usageError{wrong.Problems()}
}

// liveLimit bounds how long a check waits for Slurm and Compute: somebody sits
// before it.
const liveLimit = time.Minute

// observe looks at Slurm and Compute.
func (a *app) observe(ctx context.Context, cfg *config.Config) (check.World, error) {
	bounded, cancel := context.WithTimeout(ctx, liveLimit)
	defer cancel()
	var cloud check.Cloud
	client, err := a.cloud(ctx, cfg, zap.NewNop())
	if err == nil {
		defer client.Close()
		cloud = client
	}
	defer a.foot.begin("asking Slurm and Compute")()
	seen := check.Observe(bounded, cfg, a.scheduler(cfg), cloud, time.Now)
	seen.Client = err
	if seen.Hooks, err = hooksFolder(); err != nil {
		return check.World{}, err
	}
	if ctx.Err() != nil {
		return check.World{}, fmt.Errorf("check cut short: %w", context.Cause(ctx))
	}
	return seen, nil
}

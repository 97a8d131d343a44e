package main

import (
	"context"
	"errors"
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
		Use: "config", Short: "Check the configuration and print what goes with it", GroupID: "ask",
		Long: `Check the configuration, print the matching part of slurm.conf or Lua that checks
jobs at submission, or list what to change in a cluster that slurm-gcp's scripts
run. Changes nothing.`,
		Example: `  slurmflex config check
  slurmflex config slurm-conf`,
		Args: onlyCommands,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newCheck(a), newSlurmConf(a), newLua(a), newFromSlurmGCP(a))
	return cmd
}

func newCheck(a *app) *cobra.Command {
	live, effective, asJSON := false, false, false
	cmd := &cobra.Command{
		Use: "check", Short: "Report errors, advice and ignored keys of the configuration",
		Long: `Reports what is wrong with the configuration, what could be better ("advice") and
which keys are ignored, one a line with its place in the file and its fix. Works
offline and changes nothing. With --live, also queries Slurm and Compute and
compares slurm.conf with the configuration.

Exit status: 0 if the configuration is valid (advice does not count), 1 if
something could not be checked, 2 if it is invalid.`,
		Example: `  slurmflex config check
  slurmflex config check --live
  slurmflex --config new.yaml config check --effective`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			out := cmd.OutOrStdout()
			cfg, err := a.config()
			var problems config.Problems
			switch {
			case asJSON && errors.As(err, &problems):
				return errors.Join(writeJSON(out, newCheckReport(a.configPath, "", false, faultsOf(problems))), err)
			case err != nil:
				return err
			case effective:
				return a.effective(out, asJSON, cfg)
			}
			return a.check(cmd.Context(), out, asJSON, cfg, live)
		},
	}
	cmd.Flags().BoolVar(&live, "live", false, "also query Slurm and Compute; run it on the controller as SlurmUser")
	cmd.Flags().BoolVar(&effective, "effective", false, "print the effective configuration, defaults included, as YAML")
	cmd.MarkFlagsMutuallyExclusive("live", "effective")
	jsonFlag(cmd, &asJSON)
	return cmd
}

// effective prints the effective configuration.
func (a *app) effective(w io.Writer, asJSON bool, cfg *config.Config) error {
	text, err := cfg.Effective()
	if err != nil {
		return err
	}
	if !asJSON {
		_, err = w.Write(text)
		return err
	}
	report, err := newEffectiveReport(a.configPath, text)
	if err != nil {
		return err
	}
	return writeJSON(w, report)
}

// check prints what there is to know about the configuration; what is wrong with
// it is the error.
func (a *app) check(ctx context.Context, w io.Writer, asJSON bool, cfg *config.Config, live bool) error {
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
		n, uses, others := 0, "use", ""
		for _, set := range cfg.FlexSets() {
			if !set.Flex.Capacity.AtOnce() {
				n++
			}
		}
		if n == 1 {
			uses = "uses"
		}
		if rest := len(cfg.FlexSets()) - n; rest > 0 {
			others = fmt.Sprintf(", %d other capacity", rest)
		}
		fmt.Fprintf(&text, "%s: OK: cluster %s: %d of %s %s flex-start%s%s\n",
			a.configPath, cfg.Cluster, n, view.Count(len(cfg.NodeSets), "nodeset"), uses, others, world)
	}
	var err error
	if asJSON {
		err = writeJSON(w, newCheckReport(a.configPath, cfg.Cluster, live, found))
	} else {
		_, err = io.WriteString(w, text.String())
	}
	switch {
	case err != nil:
		return err
	case len(wrong) == 0:
		return nil
	case len(found.Of(check.Fault)) == 0:
		return wrong.Problems()
	}
	return usageError{wrong.Problems()}
}

// liveLimit bounds how long a check waits for Slurm and Compute, because somebody
// is waiting for it.
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
	defer a.progress.Begin("querying Slurm and Compute")()
	seen := check.Observe(bounded, cfg, a.scheduler(cfg), cloud, time.Now)
	seen.Client = err
	if seen.Hooks, err = hooksFolder(); err != nil {
		return check.World{}, err
	}
	if ctx.Err() != nil {
		return check.World{}, fmt.Errorf("check interrupted: %w", context.Cause(ctx))
	}
	return seen, nil
}

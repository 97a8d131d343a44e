package main

import (
	"context"
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"slurmflex/config"
	"slurmflex/flex"
	"slurmflex/flex/cost"
	"slurmflex/flex/plan/memo"
	"slurmflex/flex/view"
	"slurmflex/flex/wake"
	"slurmflex/slurm"
)

func newBlock(a *app) *cobra.Command {
	until, asJSON, block := "", false, memo.Block{}
	cmd := &cobra.Command{
		Use: "block NODESET", Short: "Request no more machines for a nodeset", GroupID: "run",
		Long: `Request no more machines for a nodeset, until --until or slurmflex unblock. Its jobs
wait, and machines that exist stay usable. A second block replaces the first. Run it
as a user who may change nodes; as SlurmUser, it takes effect at once, otherwise in
the daemon's next pass.`,
		Example: `  slurmflex block a3 --why drivers
  slurmflex block a3 --until 2026-12-01T08:00:00 --cancel`,
		Args: exactly(1, "a3"),

		ValidArgsFunction: a.complete(view.View.NodeSetNames),
		RunE: a.configured(func(cmd *cobra.Command, args []string, cfg *config.Config) error {
			if err := finish(&block, until, time.Now()); err != nil {
				return config.Misuse(err)
			}
			nodes, err := a.mark(cmd.Context(), cfg, "block", args[0], func(ctx context.Context, s flex.Scheduler) ([]string, error) {
				return flex.Block(ctx, s, cfg, args[0], block)
			})
			if err != nil {
				return err
			}
			return view.Write(cmd.OutOrStdout(), asJSON, view.Blocked{
				Envelope: view.EnvelopeOf("block"), NodeSet: args[0], Nodes: slurm.Fold(nodes),
				Block: view.Block{Until: block.Until, Why: block.Why, Cancels: block.Cancels},
			})
		}),
	}
	cmd.Flags().StringVar(&until, "until", "", "when the block ends: a `time` such as 2026-12-01 or 2026-12-01T08:00:00; local time")
	cmd.Flags().StringVar(&block.Why, "why", "", "a `text` for admins and for owners of waiting jobs")
	cmd.Flags().BoolVar(&block.Cancels, "cancel", false, "cancel its queued requests too; they lose their places at Google")
	jsonFlag(cmd, &asJSON)
	return cmd
}

// whyLimit is the maximum length of a block's text, in bytes: an AdminComment has 500.
const whyLimit = 200

// finish checks the flags of a block and adds its times.
func finish(block *memo.Block, until string, now time.Time) error {
	end, err := cost.Moment("--until", until)
	switch {
	case err != nil:
		return err
	case until != "" && !end.Time().After(now):
		return fmt.Errorf("--until %s is over; name a time in the future", until)
	case until != "":
		block.Until = end.Time()
	}
	block.At, block.Why = now, strings.TrimSpace(block.Why)
	switch {
	case strings.ContainsFunc(block.Why, func(r rune) bool { return !unicode.IsPrint(r) || r == utf8.RuneError }):
		return fmt.Errorf("--why %q: use one line of printable characters", block.Why)
	case len(block.Why) > whyLimit:
		return fmt.Errorf("--why has %d bytes; use at most %d", len(block.Why), whyLimit)
	}
	return nil
}

func newUnblock(a *app) *cobra.Command {
	asJSON := false
	cmd := &cobra.Command{
		Use: "unblock NODESET", Short: "Lift a nodeset's block", GroupID: "run",
		Long: `Lift the block of slurmflex block, and clear the record of failed boots of a nodeset's
nodes. After boot_failures of them in a row, slurmflex requests no more machines for
the nodeset until one joins Slurm or an hour passes. Run it as a user who may change
nodes, such as SlurmUser.`,
		Example: "  slurmflex unblock a3",
		Args:    exactly(1, "a3"),

		ValidArgsFunction: a.complete(view.View.NodeSetNames),
		RunE: a.configured(func(cmd *cobra.Command, args []string, cfg *config.Config) error {
			nodes, err := a.mark(cmd.Context(), cfg, "unblock", args[0], func(ctx context.Context, s flex.Scheduler) ([]string, error) {
				return flex.Unblock(ctx, s, cfg, args[0])
			})
			if err != nil {
				return err
			}
			return view.Write(cmd.OutOrStdout(), asJSON, view.Unblock{Envelope: view.EnvelopeOf("unblock"), NodeSet: args[0], Nodes: slurm.Fold(nodes)})
		}),
	}
	jsonFlag(cmd, &asJSON)
	return cmd
}

// mark changes the records of a nodeset's nodes and wakes the daemon. Without an answer, the daemon
// reads the records in its next pass.
func (a *app) mark(ctx context.Context, cfg *config.Config, verb, nodeset string, change func(context.Context, flex.Scheduler) ([]string, error)) ([]string, error) {
	if _, err := cfg.NeedFlexSet(nodeset); err != nil {
		return nil, config.Misuse(err)
	}
	nodes, err := change(ctx, a.scheduler(cfg))
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", verb, nodeset, err)
	}
	if len(nodes) > 0 {
		_ = wake.Send(ctx, wake.SocketPath(cfg.Options.RunDir), wake.Call{Cluster: cfg.Cluster, Verb: verb, Nodes: slurm.Fold(nodes)})
	}
	return nodes, nil
}

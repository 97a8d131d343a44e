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
	"slurmflex/flex/plan/scene"
	"slurmflex/flex/view"
	"slurmflex/flex/wake"
	"slurmflex/slurm"
)

func newBlock(a *app) *cobra.Command {
	until, block := "", memo.Block{}
	cmd := &cobra.Command{
		Use: "block NODESET", Short: "Request no more machines for a nodeset", GroupID: "run",
		Long: `Request no more machines for a nodeset, until --until or slurmflex unblock. Its jobs
wait, and machines that exist stay usable. A second block replaces the first. Run it
as a user who may change nodes; as SlurmUser, it takes effect at once, otherwise in
the daemon's next pass.`,
		Example: `  slurmflex block a3 --why drivers
  slurmflex block a3 --until 2026-12-01T08:00:00 --cancel`,
	}
	cmd.Flags().StringVar(&until, "until", "", "when the block ends: a `time` such as 2026-12-01 or 2026-12-01T08:00:00; local time")
	cmd.Flags().StringVar(&block.Why, "why", "", "a `text` for admins and for owners of waiting jobs")
	cmd.Flags().BoolVar(&block.Cancels, "cancel", false, "cancel its queued requests too; they lose their places at Google")
	return a.marks(cmd, func(ctx context.Context, s flex.Scheduler, cfg *config.Config, nodeset string) ([]string, error) {
		if err := finish(&block, until, time.Now()); err != nil {
			return nil, config.Misuse(err)
		}
		return flex.Block(ctx, s, cfg, nodeset, block)
	}, func(nodeset, nodes string) fmt.Stringer {
		return view.Blocked{
			Envelope: view.EnvelopeOf("block"), NodeSet: nodeset, Nodes: nodes,
			Block: scene.Block{Until: block.Until, Why: block.Why, Cancels: block.Cancels},
		}
	})
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
	return a.marks(&cobra.Command{
		Use: "unblock NODESET", Short: "Lift a nodeset's block", GroupID: "run",
		Long: `Lift the block of slurmflex block, and clear the record of failed boots of a nodeset's
nodes. After boot_failures of them in a row, slurmflex requests no more machines for
the nodeset until one joins Slurm or an hour passes. Run it as a user who may change
nodes, such as SlurmUser.`,
		Example: "  slurmflex unblock a3",
	}, flex.Unblock, func(nodeset, nodes string) fmt.Stringer {
		return view.Unblock{Envelope: view.EnvelopeOf("unblock"), NodeSet: nodeset, Nodes: nodes}
	})
}

// marks completes a command that changes the records of a nodeset's nodes, wakes the daemon, and
// prints which nodes it has changed. Without an answer, the daemon reads the records in its next
// pass.
func (a *app) marks(
	cmd *cobra.Command, change func(context.Context, flex.Scheduler, *config.Config, string) ([]string, error), changed func(nodeset, nodes string) fmt.Stringer,
) *cobra.Command {
	jsonFlag(cmd)
	cmd.Args, cmd.ValidArgsFunction = oneArgument("a3"), a.complete(view.View.NodeSetNames)
	cmd.RunE = a.configured(func(cmd *cobra.Command, args []string, cfg *config.Config) error {
		ctx, nodeset := cmd.Context(), args[0]
		if _, err := cfg.NeedFlexSet(nodeset); err != nil {
			return config.Misuse(err)
		}
		names, err := change(ctx, a.scheduler(cfg), cfg, nodeset)
		if err != nil {
			return fmt.Errorf("%s %s: %w", cmd.Name(), nodeset, err)
		}
		nodes := slurm.Fold(names)
		if len(names) > 0 {
			_ = wake.Send(ctx, wake.SocketPath(cfg.Options.RunDir), wake.Call{Cluster: cfg.Cluster, Verb: cmd.Name(), Nodes: nodes})
		}
		return show(cmd, changed(nodeset, nodes))
	})
	return cmd
}

package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"go.uber.org/zap"

	"slurmflex/config"
	"slurmflex/flex"
	"slurmflex/slurm"
)

// settleLimit bounds how long a round without a daemon stays to see deletions
// through. Cron's next sync goes on from there.
const settleLimit = 5 * time.Minute

func newDaemon(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "daemon", Short: "Make rounds until stopped; hooks hand over to it", GroupID: "run", Args: noArguments,
		Long: `Make rounds until stopped: one every slurmflex.interval, at once when slurmctld
calls a hook, and sooner while something is expected to change.

It runs as SlurmUser on the host of slurmctld. With backup controllers it runs
on their hosts too, and acts where slurmctld is active. TERM stops it; the next
start goes on from there. HUP has it use the configuration file as it is now, if
it is valid; USR1 switches its log to debug and back.

systemd (Type=notify) is told when it serves and how its rounds go. Each round
feeds the watchdog.`,
		Example: `  systemctl enable --now slurmflex
  systemctl reload slurmflex
  slurmflex --log-level debug daemon`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.withReconciler(cmd.Context(), func(ctx context.Context, r *flex.Reconciler) error {
				hints, err := flex.Listen(ctx, flex.SocketPath(r.Config.Options.RunDir), r.Config.Cluster, r.Log)
				if err != nil {
					return err
				}
				r.Log.Info("daemon ready", zap.String("cluster", r.Config.Cluster),
					zap.Strings("regions", r.Config.FlexRegions()), zap.Duration("interval", r.Config.Options.Interval))
				ctx, stop := context.WithCancel(ctx)
				board, served := a.serve(ctx, r)
				reloaded := a.reloading(ctx, r, board)
				defer func() { stop(); served(); reloaded() }()
				defer superviseBySystemd(ctx, r)()
				defer a.toggleDebug()()
				return r.Run(ctx, a.lock(r.Config), hints)
			})
		},
	}
}

func newSync(a *app) *cobra.Command {
	var file textfile
	cmd := &cobra.Command{
		Use: "sync", Short: "Make one round, for cron", GroupID: "run", Args: noArguments,
		Long: `Make one round, and wait for what it begins. For cron, or slurmflex-sync.timer,
where no daemon runs; beside a daemon it waits for its turn. It runs as
SlurmUser.`,
		Example: `  slurmflex sync
  slurmflex sync --textfile /var/lib/prometheus/node-exporter/slurmflex.prom`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.withReconciler(cmd.Context(), func(ctx context.Context, r *flex.Reconciler) error {
				return a.oneRound(ctx, r, file)
			})
		},
	}
	file.flag(cmd)
	return cmd
}

func newGC(a *app) *cobra.Command {
	dryRun, adopt := false, false
	var file textfile
	cmd := &cobra.Command{
		Use: "gc", Short: "Only collect: what nobody wants any more and what is empty", GroupID: "run", Args: noArguments,
		Long: `Make a round that only collects: requests and instances that no node of Slurm
wants, and groups, policies and reservations of this cluster that serve nobody.
Nothing is asked for, and no node is changed. It runs as SlurmUser.`,
		Example: `  slurmflex gc --dry-run
  slurmflex gc --adopt-slurm-gcp`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.withReconciler(cmd.Context(), func(ctx context.Context, r *flex.Reconciler) error {
				r.Adopt = adopt
				if dryRun {
					return a.printPlan(ctx, cmd.OutOrStdout(), r, flex.OnlyCollect)
				}
				return a.oneRound(ctx, r, file, flex.OnlyCollect)
			})
		},
	}
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "only say what would be collected")
	file.flag(cmd)
	cmd.MarkFlagsMutuallyExclusive("dry-run", "textfile")
	cmd.Flags().BoolVar(&adopt, "adopt-slurm-gcp", false, "also what slurm-gcp's scripts have left for this cluster's flex nodesets")
	return cmd
}

func newUnblock(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "unblock NODESET", Short: "Ask for a nodeset's instances again after boots that failed", GroupID: "run",
		Long: `Forget the boots that failed on a nodeset's nodes. After boot_failures of them
in a row slurmflex asks for no more of its instances until one comes up or an
hour passes. It runs as SlurmUser.`,
		Example: "  slurmflex unblock a3",
		Args:    exactly(1, "it takes one nodeset, such as a3"),
		RunE: func(cmd *cobra.Command, args []string) error {
			cfg, err := a.config()
			if err != nil {
				return err
			}
			if !cfg.HasFlexSet(args[0]) {
				return usageError{fmt.Errorf("%s has no flex nodeset %q", a.configPath, args[0])}
			}
			nodes, err := flex.Unblock(cmd.Context(), a.scheduler(cfg), cfg, args[0])
			if err != nil {
				return fmt.Errorf("unblock %s: %w", args[0], err)
			}
			if len(nodes) == 0 {
				fmt.Fprintf(cmd.OutOrStdout(), "nodeset %s has no record of failed boots\n", args[0])
				return nil
			}
			fmt.Fprintf(cmd.OutOrStdout(), "nodeset %s: failed boots of %s forgotten\n", args[0], slurm.Fold(nodes))
			return nil
		},
	}
}

// newRound is what a hook starts, detached, where no daemon runs.
func newRound(a *app) *cobra.Command {
	hint := flex.Hint{}
	cmd := &cobra.Command{
		Use: "round", Hidden: true, Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := flex.UnblockSignals(); err != nil {
				return err
			}
			cfg, err := a.config()
			if err != nil {
				a.logToSyslog().Error("no round", zap.Error(err))
				return err
			}
			log := a.logIfPossible(cfg.Options)
			log.Info("round without a daemon", zap.String("verb", hint.Verb), zap.String("nodes", hint.Nodes))
			err = a.with(cmd.Context(), cfg, log, func(ctx context.Context, r *flex.Reconciler) error {
				return r.Settle(ctx, a.lock(r.Config), settleLimit)
			})
			if err != nil {
				log.Error("no round", zap.Error(err))
				return loggedError{err}
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&hint.Verb, "verb", "", "the hook that asks")
	cmd.Flags().StringVar(&hint.Nodes, "nodes", "", "the nodes that it was called for")
	return cmd
}

// withReconciler builds a reconciler that logs to stderr and hands it over.
func (a *app) withReconciler(ctx context.Context, do func(context.Context, *flex.Reconciler) error) error {
	cfg, err := a.config()
	if err != nil {
		return err
	}
	log, err := a.logToStderr(cfg.Options)
	if err != nil {
		return err
	}
	defer func() { _ = log.Sync() }()
	return a.with(ctx, cfg, log, do)
}

func (a *app) with(ctx context.Context, cfg *config.Config, log *zap.Logger, do func(context.Context, *flex.Reconciler) error) error {
	r, closeCloud, err := a.reconciler(ctx, cfg, log)
	if err != nil {
		return err
	}
	defer closeCloud()
	return do(ctx, r)
}

// oneRound does the work of one round, and writes its metrics into the file.
func (a *app) oneRound(ctx context.Context, r *flex.Reconciler, file textfile, only ...flex.Filter) error {
	r.Watch = flex.Watchers{r.Watch, &a.foot}
	over := a.foot.begin("looking at Slurm and Compute")
	out, err := r.Sync(ctx, a.lock(r.Config), only...)
	over()
	return errors.Join(verdict(ctx, out, err), a.measures.write(file, err))
}

// verdict is what is wrong with a round. Another process that is about to begin
// one does it in our place, or the one on the active controller's host.
func verdict(ctx context.Context, out flex.Outcome, err error) error {
	switch {
	case errors.Is(err, flex.ErrQueued), errors.Is(err, flex.ErrStandby):
		return nil
	case ctx.Err() != nil:
		return fmt.Errorf("round cut short: %w; the next one goes on from there", context.Cause(ctx))
	case err != nil:
		return err
	case out.Failed > 0:
		return fmt.Errorf("%d of %d actions failed; the next round tries again", out.Failed, len(out.Plan.Actions))
	case out.Plan.Unseen > 0:
		return fmt.Errorf("%d regions could not be read; the next round tries again", out.Plan.Unseen)
	}
	return nil
}

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"go.uber.org/zap"
	"golang.org/x/sys/unix"

	"slurmflex/config"
	"slurmflex/flex"
	"slurmflex/flex/door"
	"slurmflex/flex/systemd"
	"slurmflex/flex/view"
	"slurmflex/slurm"
)

// settleLimit bounds how long a pass without a daemon waits for deletions. Cron's
// next sync continues from there.
const settleLimit = 5 * time.Minute

func newDaemon(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "daemon", Short: "Run the reconcile loop", GroupID: "run", Args: noArguments,
		Long: `Run the reconcile loop: a pass every slurmflex.interval, at once when slurmctld
calls a hook, and sooner while something is expected to change.

It runs as SlurmUser on the host of slurmctld. With backup controllers, run it on
their hosts too; only the one on the active controller acts. TERM stops it, and the
next start continues where it stopped. HUP makes it reload the configuration file
if that is valid; USR1 switches its log to debug and back.

It notifies systemd (Type=notify) when it is ready and how its passes go. Each pass
feeds the watchdog.`,
		Example: `  systemctl enable --now slurmflex
  systemctl reload slurmflex
  slurmflex --log-level debug daemon`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.withReconciler(cmd.Context(), func(ctx context.Context, r *flex.Reconciler) error {
				// From here on no HUP or USR1 ends the daemon, however early it comes.
				hangups := make(chan os.Signal, 1)
				signal.Notify(hangups, unix.SIGHUP)
				defer signal.Stop(hangups)
				defer a.toggleDebug()()
				wakeUps, err := flex.Listen(ctx, flex.SocketPath(r.Config.Options.RunDir), r.Config.Cluster, r.Log)
				if err != nil {
					return err
				}
				doors := door.New(r.Config, a.scheduler(r.Config), wakeUps, r.Log, time.Now)
				r.Watch, r.Promises = flex.Watchers{doors, r.Watch}, true
				ctx, stop := context.WithCancel(ctx)
				board, served := a.serve(ctx, r)
				r.Log.Info("daemon ready", zap.String("cluster", r.Config.Cluster),
					zap.Strings("regions", r.Config.FlexRegions()), zap.Duration("interval", r.Config.Options.Interval))
				reloaded := a.reloading(ctx, r, board, doors, hangups)
				var holding sync.WaitGroup
				holding.Go(func() { doors.Run(ctx) })
				defer func() { stop(); served(); reloaded(); holding.Wait() }()
				defer systemd.Supervise(ctx, r)()
				return r.Run(ctx, a.lock(r.Config), wakeUps)
			})
		},
	}
}

func newSync(a *app) *cobra.Command {
	var file textfile
	asJSON := false
	cmd := &cobra.Command{
		Use: "sync", Short: "Run one reconcile pass, for cron", GroupID: "run", Args: noArguments,
		Long: `Run one reconcile pass and wait for its actions to finish. For cron or
slurmflex-sync.timer, when no daemon is running; with a daemon it waits for its
turn. It must run as SlurmUser.

Each action is a line of the log, on stderr; the last line, on stdout, counts them.`,
		Example: `  slurmflex sync
  slurmflex sync --textfile /var/lib/prometheus/node-exporter/slurmflex.prom`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.withReconciler(cmd.Context(), func(ctx context.Context, r *flex.Reconciler) error {
				return a.onePass(ctx, cmd.OutOrStdout(), asJSON, r, file)
			})
		},
	}
	file.flag(cmd)
	jsonFlag(cmd, &asJSON)
	return cmd
}

func newGC(a *app) *cobra.Command {
	dryRun, adopt, asJSON := false, false, false
	var file textfile
	cmd := &cobra.Command{
		Use: "gc", Short: "Clean up requests, machines and groups that are no longer needed", GroupID: "run", Args: noArguments,
		Long: `Run a reconcile pass that only cleans up: it deletes requests and machines that no
node in Slurm needs, and groups, policies and reservations of this cluster that are
no longer used, also those that a killed slurmflex trial has left. It requests
nothing and changes no node. It must run as SlurmUser.

Each action is a line of the log, on stderr; the last line, on stdout, counts them.`,
		Example: `  slurmflex gc --dry-run
  slurmflex gc --adopt-slurm-gcp`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.withReconciler(cmd.Context(), func(ctx context.Context, r *flex.Reconciler) error {
				r.Adopt, r.Remnants, r.AllPolicies = adopt, true, true
				if dryRun {
					return a.printPlan(ctx, cmd.OutOrStdout(), asJSON, r, flex.OnlyCollect)
				}
				return a.onePass(ctx, cmd.OutOrStdout(), asJSON, r, file, flex.OnlyCollect)
			})
		},
	}
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "only print what would be cleaned up")
	file.flag(cmd)
	cmd.MarkFlagsMutuallyExclusive("dry-run", "textfile")
	jsonFlag(cmd, &asJSON)
	cmd.Flags().BoolVar(&adopt, "adopt-slurm-gcp", false, "also clean up what slurm-gcp's scripts have left of this cluster's flex nodesets")
	return cmd
}

// unblocked is what unblock has done.
type unblocked struct {
	view.Envelope
	NodeSet string `json:"nodeset"`
	Nodes   string `json:"nodes"` // a hostlist: those whose record is cleared
}

func (u unblocked) String() string {
	if u.Nodes == "" {
		return fmt.Sprintf("nodeset %s has no record of failed boots\n", u.NodeSet)
	}
	return fmt.Sprintf("nodeset %s unblocked (boot failures of %s cleared)\n", u.NodeSet, u.Nodes)
}

func newUnblock(a *app) *cobra.Command {
	asJSON := false
	cmd := &cobra.Command{
		Use: "unblock NODESET", Short: "Lift a nodeset's block after failed boots", GroupID: "run",
		Long: `Clear the record of failed boots of a nodeset's nodes. After boot_failures of them
in a row, slurmflex requests no more machines for the nodeset until one joins Slurm
or an hour passes. It must run as SlurmUser.`,
		Example: "  slurmflex unblock a3",
		Args:    exactly(1, "a3"),

		ValidArgsFunction: a.complete(nodeSets),
		RunE: func(cmd *cobra.Command, args []string) error {
			cfg, err := a.config()
			if err != nil {
				return err
			}
			if !cfg.HasFlexSet(args[0]) {
				return unknownNodeSet(args[0], names(cfg))
			}
			over := a.progress.Begin("reading Slurm")
			nodes, err := flex.Unblock(cmd.Context(), a.scheduler(cfg), cfg, args[0])
			over()
			if err != nil {
				return fmt.Errorf("unblock %s: %w", args[0], err)
			}
			return write(cmd.OutOrStdout(), asJSON, unblocked{view.EnvelopeOf("unblock"), args[0], slurm.Fold(nodes)})
		},
	}
	jsonFlag(cmd, &asJSON)
	return cmd
}

// names are those of the flex-start nodesets.
func names(cfg *config.Config) (names []string) {
	for _, set := range cfg.FlexSets() {
		names = append(names, set.Name)
	}
	return names
}

// unknownNodeSet is the error for a nodeset that is not among those.
func unknownNodeSet(name string, known []string) error {
	return usageError{fmt.Errorf("unknown flex-start nodeset %q; choose one of: %s", name, strings.Join(known, ", "))}
}

// newPass is what a hook starts, detached, when no daemon is running.
func newPass(a *app) *cobra.Command {
	wakeUp := flex.WakeUp{}
	cmd := &cobra.Command{
		Use: "pass", Hidden: true, Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := flex.UnblockSignals(); err != nil {
				return err
			}
			cfg, err := a.config()
			if err != nil {
				a.logToSyslog().Error("cannot reconcile", zap.Error(err))
				return err
			}
			log := a.logIfPossible(cfg.Options)
			log.Info("pass without a daemon", zap.String("verb", wakeUp.Verb), zap.String("nodes", wakeUp.Nodes))
			err = a.with(cmd.Context(), cfg, log, func(ctx context.Context, r *flex.Reconciler) error {
				return r.Settle(ctx, a.lock(r.Config), settleLimit)
			})
			if err != nil {
				log.Error("cannot reconcile", zap.Error(err))
				return loggedError{err}
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&wakeUp.Verb, "verb", "", "the hook that was called")
	cmd.Flags().StringVar(&wakeUp.Nodes, "nodes", "", "the nodes that it was called for")
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

// onePass runs one pass, says what it has done, and writes its metrics into the file.
func (a *app) onePass(ctx context.Context, w io.Writer, asJSON bool, r *flex.Reconciler, file textfile, only ...flex.Filter) error {
	did := newDid(r.Config.Cluster)
	r.Watch = flex.Watchers{r.Watch, &a.progress, did}
	over := a.progress.Begin("reading Slurm and Compute")
	out, err := r.Sync(ctx, a.lock(r.Config), only...)
	over()
	a.history.Wait(recordLimit) // which counts machine time by account
	said := did.say(w, asJSON, err)
	return errors.Join(verdict(ctx, out, err), said, a.measures.write(file, err))
}

// verdict is what went wrong in a pass. It is no error if another process that is
// about to start a pass does our work, or the one on the active controller's host.
func verdict(ctx context.Context, out flex.Outcome, err error) error {
	switch {
	case errors.Is(err, flex.ErrQueued), errors.Is(err, flex.ErrStandby):
		return nil
	case ctx.Err() != nil:
		return fmt.Errorf("pass interrupted: %w; the next one continues from there", context.Cause(ctx))
	case err != nil:
		return err
	case out.Failed > 0:
		return fmt.Errorf("%d of %d actions failed; the next pass retries", out.Failed, len(out.Plan.Actions))
	case out.Plan.Unseen > 0:
		return fmt.Errorf("%s could not be read; the next pass retries", view.Count(out.Plan.Unseen, "region"))
	}
	return nil
}

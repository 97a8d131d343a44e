package main

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"runtime/debug"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"go.uber.org/zap"
	"golang.org/x/sys/unix"

	"slurmflex/config"
	"slurmflex/flex"
	"slurmflex/flex/history"
	"slurmflex/flex/hook"
	"slurmflex/flex/logs"
	"slurmflex/flex/metrics"
	"slurmflex/flex/view"
	"slurmflex/flex/wake"
	"slurmflex/flex/web"
)

// garbagePercent is how much the daemon's heap may grow before garbage is collected, in percent of what
// is in use (Go: 100). A daemon passes once a minute on slurmctld's host: memory, which it holds all
// the time, is scarcer than the milliseconds of a collection.
const garbagePercent = 50

// settleLimit bounds how long a pass without a daemon waits for deletions. Cron's next sync
// continues from there.
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
		RunE: a.reconciling(func(cmd *cobra.Command, r *flex.Reconciler) error { return a.daemonize(cmd.Context(), r) }),
	}
}

// daemonize runs the daemon until ctx ends.
func (a *app) daemonize(ctx context.Context, r *flex.Reconciler) error {
	// From here on, HUP and USR1 never end the daemon, however early they arrive.
	hangups := make(chan os.Signal, 1)
	signal.Notify(hangups, unix.SIGHUP)
	defer signal.Stop(hangups)
	defer a.log.ToggleDebug()()
	defer debug.SetGCPercent(debug.SetGCPercent(garbagePercent))
	cfg := r.Config
	r.BadHosts = history.BadHosts(cfg.Options.StateDir, cfg.Cluster)
	wakeUps, err := wake.Listen(ctx, wake.SocketPath(cfg.Options.RunDir), cfg.Cluster, r.Log)
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(ctx)
	doors := &flex.Keeper{Slurm: a.scheduler(cfg), Log: r.Log, Now: time.Now, Call: wakeUps}
	board := web.NewBoard(cfg, time.Now)
	estimates, fill := a.shown(cfg, r.Log)
	board.Fill, board.Keep, board.History = fill, estimates.Keep, a.history
	a.history.Remembers = true
	r.Watch, r.Promises = append(flex.Watchers{board.Watcher(), doors.Watcher()}, r.Watch...), true
	server := &web.Server{Board: board, Address: cfg.Options.HTTPAddress, Log: r.Log, Now: time.Now, Metrics: a.measures.Handler(r.Log)}
	reloader := &flex.Reloader{
		File: a.configPath, Read: a.config, R: r, Use: func(cfg *config.Config) { board.Use(cfg); a.measures.Use(cfg) },
		Valid: a.measures.ConfigRead, Differ: board.NoteConfig,
	}
	var beside sync.WaitGroup
	beside.Go(func() { server.Run(ctx) })
	r.Log.Info("daemon ready", zap.String("cluster", cfg.Cluster), zap.Strings("regions", cfg.FlexRegions()), zap.Duration("interval", cfg.Options.Interval))
	reloaded := reloader.Start(ctx, hangups)
	beside.Go(func() { doors.Run(ctx) })
	defer func() { stop(); reloaded(); beside.Wait() }()
	defer supervise(ctx, r)()
	return r.Run(ctx, a.lock(cfg), wakeUps)
}

func newSync(a *app) *cobra.Command {
	file := ""
	cmd := &cobra.Command{
		Use: "sync", Short: "Run one reconcile pass, for cron", GroupID: "run", Args: noArguments,
		Long: `Run one reconcile pass and wait for its actions to finish. For cron or
slurmflex-sync.timer, when no daemon is running; with a daemon it waits for its
turn. It must run as SlurmUser.

Each action is a line of the log, on stderr; the last line, on stdout, counts them.`,
		Example: `  slurmflex sync
  slurmflex sync --textfile /var/lib/prometheus/node-exporter/slurmflex.prom`,
		RunE: a.reconciling(func(cmd *cobra.Command, r *flex.Reconciler) error { return a.onePass(cmd, r, file) }),
	}
	cmd.Flags().StringVar(&file, "textfile", "", "write metrics into this `file`, for node_exporter")
	cmd.PreRunE = func(*cobra.Command, []string) error { return config.Misuse(metrics.CheckTextfile(file)) }
	jsonFlag(cmd)
	return cmd
}

func newGC(a *app) *cobra.Command {
	dryRun, adopt := false, false
	cmd := &cobra.Command{
		Use: "gc", Short: "Clean up requests, machines and groups that are no longer needed", GroupID: "run", Args: noArguments,
		Long: `Run a reconcile pass that only cleans up: it deletes requests and machines that no
node in Slurm needs, and groups, policies and reservations of this cluster that are
no longer used. It requests nothing and changes no node. It must run as SlurmUser.

Each action is a line of the log, on stderr; the last line, on stdout, counts them.`,
		Example: `  slurmflex gc --dry-run
  slurmflex gc --adopt-slurm-gcp`,
		RunE: a.reconciling(func(cmd *cobra.Command, r *flex.Reconciler) error {
			r.Adopt, r.AllPolicies = adopt, true
			if dryRun {
				return a.printPlan(cmd, r, flex.OnlyCollect)
			}
			return a.onePass(cmd, r, "", flex.OnlyCollect)
		}),
	}
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "only print what would be cleaned up")
	jsonFlag(cmd)
	cmd.Flags().BoolVar(&adopt, "adopt-slurm-gcp", false, "also clean up what slurm-gcp's scripts have left of this cluster's flex nodesets")
	return cmd
}

// newPass returns the command that a hook starts, detached, when no daemon is running.
func newPass(a *app) *cobra.Command {
	wakeUp := wake.Call{}
	cmd := &cobra.Command{
		Use: "pass", Hidden: true, Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := hook.UnblockSignals(); err != nil {
				return err
			}
			cfg, err := a.config()
			if err != nil {
				logs.ToSyslog(a.syslog).Error("cannot reconcile", zap.Error(err))
				return err
			}
			log := a.logForHooks(cfg.Options)
			log.Info("pass without a daemon", zap.String("verb", wakeUp.Verb), zap.String("nodes", wakeUp.Nodes))
			err = a.with(cmd.Context(), cfg, logs.Log{Logger: log}, func(r *flex.Reconciler) error {
				return r.Settle(cmd.Context(), a.lock(cfg), settleLimit)
			})
			if err != nil {
				log.Error("cannot reconcile", zap.Error(err))
			}
			return nil // the hook has ended: the log has the error, and the exit status no reader
		},
	}
	cmd.Flags().StringVar(&wakeUp.Verb, "verb", "", "the hook that was called")
	cmd.Flags().StringVar(&wakeUp.Nodes, "nodes", "", "the nodes that it was called for")
	return cmd
}

// onePass runs one pass, prints its actions, and writes its metrics into the file. It succeeds if
// another process does all the work.
func (a *app) onePass(cmd *cobra.Command, r *flex.Reconciler, file string, only ...flex.Filter) error {
	ctx, did := cmd.Context(), &view.PassLog{Cluster: r.Config.Cluster}
	r.Watch = append(r.Watch, flex.Watcher{Saw: did.Saw, Did: did.Did})
	out, err := r.Sync(ctx, a.lock(r.Config), only...)
	done := did.Pass()
	done.Skipped = skipped(done, err)
	var unprinted error
	if err == nil || done.Skipped != "" || len(done.Actions) > 0 {
		unprinted = show(cmd, done)
	}
	a.history.Wait(recordLimit) // the history counts lost races and failed checks
	return errors.Join(outcome(ctx, out, err), unprinted, a.measures.WriteTextfile(file, err))
}

package main

import (
	"context"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/cobra"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"slurmflex/config"
	"slurmflex/flex"
	"slurmflex/flex/cost"
	"slurmflex/flex/estimate"
	"slurmflex/flex/history"
	"slurmflex/flex/leader"
	"slurmflex/flex/logs"
	"slurmflex/flex/metrics"
	"slurmflex/flex/view"
	"slurmflex/mig/gce"
	"slurmflex/slurm/scontrol"
)

// app builds the real clients from the configuration.
type app struct {
	configPath string
	unhelped   error // an error if --help was used with an unknown command

	transport http.RoundTripper // transport for calls to Compute; nil for TCP
	syslog    string            // the socket of syslog; empty for the usual one

	slurm *scontrol.Client // only one, because it bounds the number of parallel commands

	logLevel string            // from the command line; empty: from the configuration
	log      logs.Log          // its Logger is nil before logging starts
	measures *metrics.Metrics  // nil before the first pass
	history  *history.Recorder // nil before the first pass
}

func (a *app) config() (*config.Config, error) {
	cfg, err := config.Load(a.configPath)
	if err != nil {
		return nil, config.Misuse(err)
	}
	if a.logLevel != "" {
		if _, err := zapcore.ParseLevel(a.logLevel); err != nil {
			return nil, config.Misusef("unknown --log-level %q; choose one of: debug, info, warn, error", a.logLevel)
		}
		cfg.Options.LogLevel = a.logLevel
	}
	return cfg, nil
}

// configured returns the body of a command that needs the configuration.
func (a *app) configured(do func(cmd *cobra.Command, args []string, cfg *config.Config) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		cfg, err := a.config()
		if err != nil {
			return err
		}
		return do(cmd, args, cfg)
	}
}

// reconciling returns the body of a command with a reconciler that logs to stderr.
func (a *app) reconciling(do func(cmd *cobra.Command, r *flex.Reconciler) error) func(*cobra.Command, []string) error {
	return a.configured(func(cmd *cobra.Command, _ []string, cfg *config.Config) error {
		log := logs.New(cfg.Options.LogLevel)
		defer func() { _ = log.Sync() }()
		return a.with(cmd.Context(), cfg, log, func(r *flex.Reconciler) error { return do(cmd, r) })
	})
}

// with builds a reconciler for the real Slurm and the real Compute, and calls do with it.
func (a *app) with(ctx context.Context, cfg *config.Config, log logs.Log, do func(*flex.Reconciler) error) error {
	a.log, a.measures = log, metrics.New(prometheus.NewRegistry(), cfg, thisBuild().Version, time.Now)
	cloud, err := a.cloud(ctx, cfg, log.Logger)
	if err != nil {
		return err
	}
	defer cloud.Close()
	a.history = &history.Recorder{Dir: cfg.Options.StateDir, Cluster: cfg.Cluster, Log: log.Logger, Notify: a.measures.Count}
	defer a.history.Wait(recordLimit)
	return do(&flex.Reconciler{
		Config:    cfg,
		Scheduler: a.scheduler(cfg),
		Cloud:     cloud,
		Log:       log.Logger,
		Now:       time.Now,
		Watch:     flex.Watchers{a.measures.Watcher(), a.history.Watcher()},
		Spent: (&cost.Ledger{
			Dir: cfg.Options.StateDir, Cluster: cfg.Cluster, Prices: a.pricesPath(), Zone: time.Local, Kept: a.history.Kept,
		}).Spent,
	})
}

// logForHooks returns the logger of hooks and of the passes that they start.
func (a *app) logForHooks(o config.Options) *zap.Logger {
	return logs.ForHooks(o.LogFile, o.LogLevel, a.syslog)
}

// recordLimit is how long an ending process waits for the history to be written, so that a hung
// disk does not block it.
const recordLimit = 5 * time.Second

func (a *app) cloud(ctx context.Context, cfg *config.Config, log *zap.Logger) (*gce.Client, error) {
	if cfg.CredentialsFile == "" { // otherwise it was already checked
		if err := config.CheckSecret(os.Getenv("GOOGLE_APPLICATION_CREDENTIALS")); err != nil {
			return nil, config.Misusef("GOOGLE_APPLICATION_CREDENTIALS: %w", err)
		}
	}
	var regions []gce.Region
	for _, r := range cfg.Options.Regions {
		regions = append(regions, gce.Region(r))
	}
	return gce.New(ctx, gce.Options{
		Project:         cfg.Project,
		Version:         thisBuild().Version,
		Endpoint:        cfg.Options.ComputeEndpoint,
		CredentialsFile: cfg.CredentialsFile,
		Regions:         regions,
		Transport:       a.transport,
		Rate:            float64(cfg.Options.APICalls),
		Log:             log,
		Observe:         a.measures.Called,
	})
}

func (a *app) scheduler(cfg *config.Config) *scontrol.Client {
	if a.slurm == nil {
		a.slurm = &scontrol.Client{BinDir: cfg.SlurmBinDir, Log: a.log.Logger, Observe: a.measures.Ran}
	}
	return a.slurm
}

func (a *app) lock(cfg *config.Config) leader.Lock {
	return leader.Lock{Dir: cfg.Options.RunDir, Permission: &leader.Permission{Slurm: a.scheduler(cfg)}, Log: a.log.Logger}
}

// shown returns the estimates for views, and what adds estimates and prices to a view. Passes never wait
// for them.
func (a *app) shown(cfg *config.Config, log *zap.Logger) (estimates *estimate.Shown, fill func(*view.View)) {
	estimates = &estimate.Shown{Dir: cfg.Options.StateDir, Cluster: cfg.Cluster}
	prices := cost.Shown{Path: a.pricesPath(), Log: log}
	return estimates, func(v *view.View) { estimates.Fill(v); prices.Fill(v) }
}

// pricesPath returns the price file used without --prices: prices.yaml in the configuration file's
// directory.
func (a *app) pricesPath() string { return filepath.Join(filepath.Dir(a.configPath), "prices.yaml") }

package main

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"slurmflex/config"
	"slurmflex/flex"
	"slurmflex/flex/filler"
	"slurmflex/flex/history"
	"slurmflex/flex/terminal"
	"slurmflex/flex/view"
	"slurmflex/mig/gce"
	"slurmflex/slurm/scontrol"
)

// app builds the real things from the configuration.
type app struct {
	configPath string
	unhelped   error // --help was given to a command that does not exist

	transport  http.RoundTripper // carries the calls to Compute; nil for TCP
	slurmLimit time.Duration     // for each of Slurm's commands; 0 for scontrol's own
	syslog     string            // the socket of syslog; empty for the usual one

	slurm *scontrol.Client // only one, because it bounds how many commands run at once

	logLevel string          // that the command line asks for; empty: the configuration's
	level    zap.AtomicLevel // of log
	log      *zap.Logger     // nil before there is one
	progress terminal.Progress
	measures measures
	history  *history.Recorder // nil before there are passes
	quotas   *filler.Quotas    // nil before there are passes
}

func (a *app) config() (*config.Config, error) {
	cfg, err := config.Load(a.configPath)
	if err != nil {
		return nil, usageError{err}
	}
	if a.logLevel != "" {
		if _, err := zapcore.ParseLevel(a.logLevel); err != nil {
			return nil, usageError{fmt.Errorf("unknown --log-level %q; choose one of: debug, info, warn, error", a.logLevel)}
		}
		cfg.Options.LogLevel = a.logLevel
	}
	return cfg, nil
}

// recordLimit is how long a process that ends waits until the history is written: disks
// that hang do not keep it.
const recordLimit = 5 * time.Second

// reconciler builds a reconciler on the real Slurm and the real Compute. The
// caller calls closeCloud when it is done with it.
func (a *app) reconciler(ctx context.Context, cfg *config.Config, log *zap.Logger) (r *flex.Reconciler, closeCloud func(), err error) {
	a.log, a.measures = log, newMeasures(cfg)
	cloud, err := a.cloud(ctx, cfg, log)
	if err != nil {
		return nil, nil, err
	}
	a.history = history.New(cfg, log, func(jobs []uint32) (map[uint32]string, error) { return a.scheduler(cfg).Accounts(ctx, jobs) }, a.measures.Leased)
	a.quotas = &filler.Quotas{Region: cloud.Region, Note: a.measures.Quotas}
	r = &flex.Reconciler{
		Config:    cfg,
		Scheduler: a.scheduler(cfg),
		Cloud:     cloud,
		Log:       log,
		Now:       time.Now,
		Watch:     flex.Watchers{a.measures.Metrics, a.history},
	}
	return r, func() {
		a.history.Wait(recordLimit)
		_ = cloud.Close()
	}, nil
}

func (a *app) cloud(ctx context.Context, cfg *config.Config, log *zap.Logger) (*gce.Client, error) {
	if cfg.Options.CredentialsFile == "" { // otherwise it has been checked
		if err := config.CheckSecret(os.Getenv("GOOGLE_APPLICATION_CREDENTIALS")); err != nil {
			return nil, usageError{fmt.Errorf("GOOGLE_APPLICATION_CREDENTIALS: %w", err)}
		}
	}
	return gce.New(ctx, gce.Options{
		Project:         cfg.Project,
		Version:         thisBuild().Version,
		Endpoint:        cfg.Options.ComputeEndpoint,
		CredentialsFile: cfg.Options.CredentialsFile,
		Transport:       a.transport,
		Rate:            float64(cfg.Options.APICalls),
		Log:             log,
		Observe:         a.measures.called,
	})
}

func (a *app) scheduler(cfg *config.Config) *scontrol.Client {
	if a.slurm == nil {
		a.slurm = &scontrol.Client{BinDir: cfg.SlurmBinDir, Timeout: a.slurmLimit, Log: a.log, Observe: a.measures.ran}
	}
	return a.slurm
}

func (a *app) lock(cfg *config.Config) flex.Lock {
	return flex.Lock{Dir: cfg.Options.RunDir, Permission: &flex.Permission{Slurm: a.scheduler(cfg)}}
}

// filler adds to views what passes do not see: estimates, prices and quotas.
func (a *app) filler(ctx context.Context, cfg *config.Config, log *zap.Logger) func(*view.View) {
	f, p := filler.NewEstimates(cfg), &filler.Prices{Path: a.pricesPath(), Log: log}
	return func(v *view.View) {
		f.Fill(v)
		p.Fill(v)
		a.quotas.Fill(ctx, v)
	}
}

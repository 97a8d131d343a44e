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
	"slurmflex/mig/gce"
	"slurmflex/slurm/scontrol"
)

// app builds the real things from the configuration.
type app struct {
	configPath string

	transport  http.RoundTripper // carries the calls to Compute; nil for TCP
	slurmLimit time.Duration     // for each of Slurm's commands; 0 for scontrol's own

	slurm *scontrol.Client // one, for it bounds how many commands run at once
}

func (a *app) config() (*config.Config, error) {
	cfg, err := config.Load(a.configPath)
	if err != nil {
		return nil, usageError{err}
	}
	return cfg, nil
}

// reconciler builds a reconciler on the real Slurm and the real Compute. The
// caller closes what close returns.
func (a *app) reconciler(ctx context.Context, cfg *config.Config, log *zap.Logger) (*flex.Reconciler, func(), error) {
	cloud, err := a.cloud(ctx, cfg, log)
	if err != nil {
		return nil, nil, err
	}
	r := &flex.Reconciler{
		Config:    cfg,
		Scheduler: a.scheduler(cfg),
		Cloud:     cloud,
		Log:       log,
		Now:       time.Now,
	}
	return r, func() { _ = cloud.Close() }, nil
}

func (a *app) cloud(ctx context.Context, cfg *config.Config, log *zap.Logger) (*gce.Client, error) {
	if cfg.Options.CredentialsFile == "" { // else it is checked already
		if err := config.CheckSecret(os.Getenv("GOOGLE_APPLICATION_CREDENTIALS")); err != nil {
			return nil, usageError{fmt.Errorf("GOOGLE_APPLICATION_CREDENTIALS: %w", err)}
		}
	}
	return gce.New(ctx, gce.Options{
		Project:         cfg.Project,
		Endpoint:        cfg.Options.ComputeEndpoint,
		CredentialsFile: cfg.Options.CredentialsFile,
		Transport:       a.transport,
		Rate:            float64(cfg.Options.APICalls),
		Log:             log,
	})
}

func (a *app) scheduler(cfg *config.Config) *scontrol.Client {
	if a.slurm == nil {
		a.slurm = &scontrol.Client{BinDir: cfg.SlurmBinDir, Timeout: a.slurmLimit}
	}
	return a.slurm
}

func (a *app) lock(cfg *config.Config) flex.Lock {
	return flex.Lock{Dir: cfg.Options.RunDir, Seat: &flex.Seat{Slurm: a.scheduler(cfg)}}
}

// logTo builds a logger that writes one JSON line per event to the file, or
// one readable line to the terminal for "stderr".
func logTo(file, level string) (*zap.Logger, error) {
	at, err := zap.ParseAtomicLevel(level)
	if err != nil {
		return nil, usageError{err}
	}
	c := zap.NewProductionConfig()
	c.Level, c.Sampling, c.DisableCaller, c.DisableStacktrace = at, nil, true, true
	c.OutputPaths, c.ErrorOutputPaths = []string{file}, []string{"stderr"}
	c.EncoderConfig.EncodeTime = zapcore.RFC3339TimeEncoder
	c.EncoderConfig.EncodeDuration = zapcore.StringDurationEncoder
	if file == "stderr" {
		c.Encoding = "console"
		c.EncoderConfig.ConsoleSeparator = " "
	}
	log, err := c.Build()
	if err != nil {
		return nil, fmt.Errorf("open log: %w; create its folder for the user that runs slurmctld, or set slurmflex.log_file", err)
	}
	return log, nil
}

// logIfPossible is the log of what must do its work even if it cannot log.
func logIfPossible(o config.Options) *zap.Logger {
	log, err := logTo(o.LogFile, o.LogLevel)
	if err != nil {
		fmt.Fprintln(os.Stderr, "slurmflex:", err)
		return zap.NewNop()
	}
	return log
}

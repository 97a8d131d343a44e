package main

import (
	"context"
	"fmt"
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
	cloud, err := gce.New(ctx, gce.Options{
		Project:         cfg.Project,
		Endpoint:        cfg.Options.ComputeEndpoint,
		CredentialsFile: cfg.Options.CredentialsFile,
		Log:             log,
	})
	if err != nil {
		return nil, nil, err
	}
	r := &flex.Reconciler{
		Config:    cfg,
		Scheduler: scheduler(cfg),
		Cloud:     cloud,
		Log:       log,
		Now:       time.Now,
	}
	return r, func() { _ = cloud.Close() }, nil
}

func scheduler(cfg *config.Config) *scontrol.Client {
	return &scontrol.Client{BinDir: cfg.SlurmBinDir}
}

func lock(cfg *config.Config) flex.Lock { return flex.Lock{Dir: cfg.Options.RunDir} }

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

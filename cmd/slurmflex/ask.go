package main

import (
	"context"

	"slurmflex/flex"
	"slurmflex/flex/ask"
	"slurmflex/flex/logs"
	"slurmflex/flex/view"
)

// daemon returns the configuration's daemon.
func (a *app) daemon() ask.Daemon { return ask.Daemon{Config: a.configPath} }

// see returns the daemon's last observation. Without a daemon, this process reads Slurm and Compute.
func (a *app) see(ctx context.Context) (view.View, error) {
	cfg, wrong := a.config()
	return a.daemon().ViewOr(ctx, cfg, wrong, func() (v view.View, err error) {
		log := logs.New(cfg.Options.LogLevel)
		err = a.with(ctx, cfg, log, func(r *flex.Reconciler) error {
			seen, p, err := r.Look(ctx)
			if err == nil {
				v = view.Of(seen, p)
				_, fill := a.shown(cfg, log.Logger)
				fill(&v)
			}
			return err
		})
		return v, err
	})
}

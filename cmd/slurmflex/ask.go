package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"slurmflex/config"
	"slurmflex/flex"
	"slurmflex/flex/ask"
	"slurmflex/flex/logs"
	"slurmflex/flex/view"
)

// daemon returns the configuration's daemon.
func (a *app) daemon() ask.Daemon { return ask.Daemon{Config: a.configPath} }

// see returns the daemon's last observation, which any user may read. Without a daemon, this
// process reads Slurm and Compute itself. The configuration must exist, but may be invalid or
// unreadable, because a running daemon has a valid one.
func (a *app) see(ctx context.Context) (view.View, error) {
	cfg, err := a.config()
	if errors.Is(err, fs.ErrNotExist) {
		return view.View{}, err // a daemon at the default address may serve another cluster
	}
	daemon := config.GlanceAt(a.configPath)
	if err == nil {
		daemon = cfg.Glance()
	}
	v, daemonErr := a.daemon().View(ctx, daemon)
	switch {
	case daemonErr == nil:
		return v, nil
	case errors.As(daemonErr, &ask.Impostor{}):
		return view.View{}, daemonErr // an admin must know, so nothing else is shown
	case err != nil:
		return view.View{}, err
	}
	log := logs.New(&a.progress, cfg.Options.LogFormat, cfg.Options.LogLevel)
	err = a.with(ctx, cfg, log, func(r *flex.Reconciler) error {
		quotasRead := a.quotas.Now(ctx, cfg.FlexRegions())
		seen, p, err := r.Look(ctx)
		quotasRead()
		if err != nil {
			return err
		}
		v = view.Of(seen, p)
		fill, _ := a.filler(ctx, cfg, log.Logger)
		fill(&v)
		return nil
	})
	if err != nil {
		return view.View{}, fmt.Errorf("%w; reading Slurm and Compute directly failed too: %w", daemonErr, err)
	}
	return v, nil
}

// look calls see and shows the progress on stderr.
func (a *app) look(ctx context.Context) (view.View, error) {
	defer a.progress.Begin("reading Slurm and Compute")()
	return a.see(ctx)
}

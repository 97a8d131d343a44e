package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"slurmflex/config"
	"slurmflex/flex"
	"slurmflex/flex/ask"
	"slurmflex/flex/view"
)

// daemon is the configuration's daemon.
func (a *app) daemon() ask.Daemon { return ask.Daemon{Config: a.configPath} }

// see returns what the daemon saw last, which any user may ask for, or if none
// answers, what this process finds by itself. The configuration must exist, but may be
// invalid or unreadable: the daemon runs with a valid one.
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
		return view.View{}, daemonErr // an admin must know, so nothing is shown instead
	case err != nil:
		return view.View{}, err
	}
	log, err := a.logToStderr(cfg.Options)
	if err != nil {
		return view.View{}, err
	}
	err = a.with(ctx, cfg, log, func(ctx context.Context, r *flex.Reconciler) error {
		quotasRead := a.quotas.Now(ctx, cfg.FlexRegions())
		seen, p, err := r.Look(ctx)
		quotasRead()
		if err != nil {
			return err
		}
		v = view.Of(seen, p)
		a.filler(ctx, cfg, log)(&v)
		return nil
	})
	if err != nil {
		return view.View{}, fmt.Errorf("%w; reading Slurm and Compute directly failed too: %w", daemonErr, err)
	}
	return v, nil
}

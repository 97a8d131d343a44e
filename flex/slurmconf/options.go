package slurmconf

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"slurmflex/config"
	"slurmflex/slurm"
)

// Options are what the flags of a command say about the part of slurm.conf.
type Options struct {
	Version  string            // of Slurm; empty: the one that Slurm says
	Programs string            // folder of our programs; empty: that of Programs
	Machines map[string]string // machine types by nodeset, instead of those of the templates
}

// Check returns an error for flags that cannot be obeyed.
func (o Options) Check(cfg *config.Config) error {
	if o.Programs != "" && !filepath.IsAbs(o.Programs) {
		return fmt.Errorf("--programs %q is not an absolute path, which Slurm requires", o.Programs)
	}
	for name := range o.Machines {
		if cfg.FlexSet(name) == nil {
			return fmt.Errorf("--machine %s=…: %s has no flex-start nodeset %q", name, cfg.Keys().File, name)
		}
	}
	return nil
}

// Slurm is the part of Slurm that SlurmVersion needs.
type Slurm interface {
	Version(ctx context.Context) (slurm.Version, error)
}

// SlurmVersion returns the version of Slurm that the options name, or else the installed one.
func (o Options) SlurmVersion(ctx context.Context, s Slurm) (v slurm.Version, err error) {
	if o.Version == "" {
		if v, err = s.Version(ctx); err != nil {
			return v, fmt.Errorf("%w; or give --slurm-version, such as 22.05", err)
		}
	} else if v, err = slurm.ParseVersion(o.Version); err != nil {
		return v, config.Misusef("--slurm-version: %w", err)
	}
	if old := TooOld(v); old != "" {
		return v, config.Misusef("%s; set the version that you upgrade to with --slurm-version", old)
	}
	return v, nil
}

// Describe returns the machine types of a configuration's nodesets, like Machines.
type Describe func(ctx context.Context, cfg *config.Config, given map[string]string) map[string]Machine

// Write returns the part of slurm.conf that a configuration needs.
func (o Options) Write(ctx context.Context, cfg *config.Config, s Slurm, machines Describe) (string, error) {
	version, err := o.SlurmVersion(ctx, s)
	if err != nil {
		return "", err
	}
	if err := o.Check(cfg); err != nil {
		return "", config.Misuse(err)
	}
	if o.Programs == "" {
		if o.Programs, err = Programs(); err != nil {
			return "", err
		}
	}
	return textOf(Input{Config: cfg, Version: version, Programs: o.Programs, Machines: machines(ctx, cfg, o.Machines)})
}

// Programs is the folder of slurmflex's hooks: beside it, or where its packages put them.
func Programs() (string, error) {
	program, err := os.Executable()
	if err == nil {
		program, err = filepath.EvalSymlinks(program)
	}
	if err != nil {
		return "", fmt.Errorf("find slurmflex's own folder: %w; give --programs", err)
	}
	beside := filepath.Dir(program)
	if _, err := os.Stat(Hooks()[0].Program(beside)); err != nil {
		return Folder, nil
	}
	return beside, nil
}

package setup

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"slurmflex/config"
	"slurmflex/slurm"
)

// SlurmConf is what the flags of a command say about the part of slurm.conf.
type SlurmConf struct {
	Version  string            // of Slurm; empty: the one that Slurm says
	Programs string            // folder of our programs; empty: that of programFolder
	Machines map[string]string // machine types by nodeset, instead of those of the templates
}

// Check returns an error for flags that cannot be obeyed.
func (o SlurmConf) Check(cfg *config.Config) error {
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

// versioned is the part of Slurm that slurmVersion needs.
type versioned interface {
	Version(ctx context.Context) (slurm.Version, error)
}

// slurmVersion returns the version of Slurm that the flags name, or else the installed one.
func (o SlurmConf) slurmVersion(ctx context.Context, s versioned) (v slurm.Version, err error) {
	if o.Version == "" {
		if v, err = s.Version(ctx); err != nil {
			return v, fmt.Errorf("%w; or give --slurm-version, such as 22.05", err)
		}
	} else if v, err = slurm.ParseVersion(o.Version); err != nil {
		return v, config.Misusef("--slurm-version must look like 24.11 or 24.11.5, not %q", o.Version)
	}
	if old := tooOld(v); old != "" {
		return v, config.Misusef("%s; set the version that you upgrade to with --slurm-version", old)
	}
	return v, nil
}

// describer returns the machine types of a configuration's nodesets, like Machines.
type describer func(ctx context.Context, cfg *config.Config, given map[string]string) map[string]Machine

// Write returns the part of slurm.conf that a configuration needs.
func (o SlurmConf) Write(ctx context.Context, cfg *config.Config, s versioned, machines describer) (string, error) {
	version, err := o.slurmVersion(ctx, s)
	if err != nil {
		return "", err
	}
	if err := o.Check(cfg); err != nil {
		return "", config.Misuse(err)
	}
	if o.Programs == "" {
		if o.Programs, err = programFolder(); err != nil {
			return "", err
		}
	}
	return textOf(Input{Config: cfg, Version: version, Programs: o.Programs, Machines: machines(ctx, cfg, o.Machines)})
}

// programFolder is the folder of slurmflex's hooks: beside it, or where its packages put them.
func programFolder() (string, error) {
	program, err := os.Executable()
	if err == nil {
		program, err = filepath.EvalSymlinks(program)
	}
	if err != nil {
		return "", fmt.Errorf("find slurmflex's own folder: %w; give --programs", err)
	}
	beside := filepath.Dir(program)
	if _, err := os.Stat(hooks()[0].program(beside)); err != nil {
		return hookFolder, nil
	}
	return beside, nil
}

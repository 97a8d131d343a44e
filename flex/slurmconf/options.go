package slurmconf

import (
	"fmt"
	"os"
	"path/filepath"

	"slurmflex/config"
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

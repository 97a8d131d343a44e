package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	"go.uber.org/zap"

	"slurmflex/config"
	"slurmflex/flex/slurmconf"
	"slurmflex/slurm"
)

func newSlurmConf(a *app) *cobra.Command {
	o := slurmConfOptions{}
	output := ""
	cmd := &cobra.Command{
		Use: "slurm-conf", Short: "Print the part of slurm.conf that the configuration needs",
		Long: `Prints the part of slurm.conf that the configuration needs: programs, times, nodes
and partitions. Node parameters come from node_conf and, where it does not set them,
from the template's machine type as Compute describes it, or from a built-in table
if Compute cannot be queried. A parameter that is "" in node_conf is left out.

With --output, the file is replaced only once the text is complete; after an error
it is unchanged.`,
		Example: `  slurmflex config slurm-conf
  slurmflex config slurm-conf --output /etc/slurm/flex.conf
  slurmflex config slurm-conf --slurm-version 24.11 --machine a3=a3-megagpu-8g`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := a.config()
			if err != nil {
				return err
			}
			text, err := a.slurmConf(cmd.Context(), cfg, o)
			if err != nil {
				return err
			}
			return put(cmd.OutOrStdout(), output, text)
		},
	}
	outputFlag(cmd, &output)
	cmd.Flags().StringVar(&o.version, "slurm-version", "", "`version` of Slurm, such as 22.05; default: that of scontrol -V")
	cmd.Flags().StringVar(&o.programs, "programs", "", "`folder` of resume, suspend and resume-fail; default: where slurmflex is installed")
	machineFlag(cmd, &o.machines)
	return cmd
}

func outputFlag(cmd *cobra.Command, file *string) {
	cmd.Flags().StringVarP(file, "output", "o", "", "write to this `file` instead of stdout")
}

func machineFlag(cmd *cobra.Command, machines *map[string]string) {
	cmd.Flags().StringToStringVar(machines, "machine", nil, "machine type of a nodeset, as `NODESET=TYPE`, instead of querying Compute for its template")
	cmd.Flags().Lookup("machine").DefValue = "" // otherwise the help shows [] as the default
}

// put writes a text to the file that --output names, otherwise to stdout.
func put(stdout io.Writer, output, text string) error {
	if output != "" {
		return replace(output, text)
	}
	_, err := fmt.Fprint(stdout, text)
	return err
}

// replace writes a file, whole or not at all. One that exists keeps its mode, and if it
// is a link, the file that it leads to is replaced; a new one anyone may read.
func replace(path, text string) (err error) {
	mode := os.FileMode(0o644)
	if to, err := filepath.EvalSymlinks(path); err == nil {
		path = to
	}
	switch was, err := os.Stat(path); {
	case err == nil && was.IsDir():
		return usageError{fmt.Errorf("--output %s is a folder; name a file in it", path)}
	case err == nil && !was.Mode().IsRegular():
		return usageError{fmt.Errorf("--output %s is not a regular file; leave --output out to print to stdout", path)}
	case err == nil:
		mode = was.Mode().Perm()
	}
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-*")
	if errors.Is(err, fs.ErrNotExist) {
		return usageError{fmt.Errorf("--output %s: there is no folder %s; create it first", path, filepath.Dir(path))}
	}
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			os.Remove(f.Name())
		}
	}()
	_, err = f.WriteString(text)
	if err = errors.Join(err, f.Chmod(mode), f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}

type slurmConfOptions struct {
	version, programs string
	machines          map[string]string // by nodeset
}

func (a *app) slurmConf(ctx context.Context, cfg *config.Config, o slurmConfOptions) (string, error) {
	in := slurmconf.Input{Config: cfg, Programs: o.programs, Extra: map[string][]slurmconf.Parameter{}}
	var err error
	if in.Version, err = a.slurmVersion(ctx, cfg, o.version); err != nil {
		return "", err
	}
	if err := o.checkPrograms(); err != nil {
		return "", err
	}
	if in.Programs == "" {
		if in.Programs, err = hooksFolder(); err != nil {
			return "", err
		}
	}
	if err := a.checkMachines(cfg, o.machines); err != nil {
		return "", err
	}
	keys := cfg.Keys()
	for _, p := range cfg.Partitions {
		for _, s := range keys.Below("partitions." + p.Name + ".partition_conf") {
			in.Extra[p.Name] = append(in.Extra[p.Name], slurmconf.Parameter(s))
		}
	}
	over := a.progress.Begin("querying Compute for machine types")
	in.Machines = a.machines(ctx, cfg, o.machines)
	over()
	return slurmconf.Text(in)
}

// checkPrograms checks that Slurm would accept the folder.
func (o slurmConfOptions) checkPrograms() error {
	if o.programs != "" && !filepath.IsAbs(o.programs) {
		return usageError{fmt.Errorf("--programs %q is not an absolute path, which Slurm requires", o.programs)}
	}
	return nil
}

// checkMachines checks the nodesets of --machine.
func (a *app) checkMachines(cfg *config.Config, machines map[string]string) error {
	for name := range machines {
		if !cfg.HasFlexSet(name) {
			return usageError{fmt.Errorf("--machine %s=…: %s has no flex-start nodeset %q", name, a.configPath, name)}
		}
	}
	return nil
}

func (a *app) slurmVersion(ctx context.Context, cfg *config.Config, given string) (v slurm.Version, err error) {
	if given == "" {
		if v, err = a.scheduler(cfg).Version(ctx); err != nil {
			return v, fmt.Errorf("%w; or give --slurm-version, such as 22.05", err)
		}
	} else if v, err = slurm.ParseVersion(given); err != nil {
		return v, usageError{fmt.Errorf("--slurm-version: %w", err)}
	}
	if old := slurmconf.TooOld(v); old != "" {
		return v, usageError{errors.New(old + "; give the version that you upgrade to with --slurm-version")}
	}
	return v, nil
}

// hooksFolder is where slurmflex's hooks are: beside it, or where its packages
// put them.
func hooksFolder() (string, error) {
	program, err := os.Executable()
	if err == nil {
		program, err = filepath.EvalSymlinks(program)
	}
	if err != nil {
		return "", fmt.Errorf("find slurmflex's own folder: %w; give --programs", err)
	}
	beside := filepath.Dir(program)
	if _, err := os.Stat(slurmconf.Hooks()[0].Program(beside)); err != nil {
		return slurmconf.Folder, nil
	}
	return beside, nil
}

// machines are the machine types of our nodesets.
func (a *app) machines(ctx context.Context, cfg *config.Config, given map[string]string) map[string]slurmconf.Machine {
	cloud, noCloud := a.cloud(ctx, cfg, zap.NewNop())
	if noCloud == nil {
		defer cloud.Close()
	}
	return slurmconf.Machines(ctx, cfg, cloud, noCloud, given)
}

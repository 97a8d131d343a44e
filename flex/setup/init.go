package setup

import (
	"context"
	"fmt"
	"io"
	"path/filepath"

	"slurmflex/config"
	"slurmflex/slurm"
)

// Init writes the first configuration of a cluster, and the part of slurm.conf for it.
type Init struct {
	answers
	SlurmConf
	Path     string // of the new configuration
	FlexConf string // path of the new part of slurm.conf
}

// configured is the part of Slurm that Init reads.
type configured interface {
	versioned
	Config(ctx context.Context) (slurm.Config, error)
}

// Write asks what no flag has answered, writes both files or none, and returns what to do with them.
func (i *Init) Write(ctx context.Context, s configured, machines describer, in io.Reader, out io.Writer) (next string, err error) {
	questions := i.Questions()
	if err := checkNew(i.Path, i.FlexConf); err != nil {
		return "", config.Misuse(err)
	}
	if err := i.checkGiven(questions); err != nil {
		return "", config.Misuse(err)
	}
	if err := i.askSlurm(ctx, s); err != nil {
		return "", err
	}
	if err := i.askOthers(ctx, questions, in, out); err != nil {
		return "", config.Misuse(err)
	}
	files, err := i.files(ctx, s, machines)
	if err != nil {
		return "", err
	}
	if err := create(files...); err != nil {
		return "", err
	}
	configuration, err := filepath.Abs(i.Path)
	if err != nil {
		return "", err
	}
	included, err := filepath.Abs(i.FlexConf)
	return i.next(configuration, included), err
}

// askSlurm reads what no flag sets, before there are questions whose answers would be lost.
func (i *Init) askSlurm(ctx context.Context, s configured) error {
	version, err := i.slurmVersion(ctx, s)
	if err != nil {
		return err
	}
	i.Version = version.String()
	if i.Cluster == "" {
		conf, err := s.Config(ctx)
		if err != nil {
			return fmt.Errorf("%w; name the cluster with --cluster", err)
		}
		i.Cluster = conf["ClusterName"]
	}
	return nil
}

// files returns both files. All answers must have been checked.
func (i *Init) files(ctx context.Context, s configured, machines describer) ([]file, error) {
	text := i.config()
	cfg, err := config.Parse(i.Path, []byte(text))
	if err != nil {
		return nil, config.Misuse(err)
	}
	i.Machines = map[string]string{i.nodeSet(): i.Machine}
	var machine Machine
	flexConf, err := i.SlurmConf.Write(ctx, cfg, s, func(ctx context.Context, cfg *config.Config, given map[string]string) map[string]Machine {
		all := machines(ctx, cfg, given)
		machine = all[i.nodeSet()]
		return all
	})
	if machine.Err != nil {
		return nil, fmt.Errorf("--machine-type %s: its CPUs and memory are unknown: %w; correct it, or run init where Compute can be read", i.Machine, machine.Err)
	}
	if machine.Name = i.Machine; err == nil && !offersFlexStart(machine.MachineType) {
		return nil, config.Misusef("--machine-type %s: flex-start does not offer it; use H4D or a type with GPUs", i.Machine)
	}
	return []file{{i.Path, text}, {i.FlexConf, flexConf}}, err
}

package slurmconf

import (
	"context"
	"strings"

	"slurmflex/config"
	"slurmflex/mig"
)

// Cloud is what Machines needs of Compute.
type Cloud interface {
	Template(ctx context.Context, link string) (mig.Template, error)
	MachineType(ctx context.Context, zone, name string) (mig.MachineType, error)
}

// Machines are the machine types of our nodesets: those that are given, otherwise
// those of the templates. Given ones are described by the table in mig if it has
// them, the others by Compute, or by the table if Compute does not answer. noCloud is why
// Compute cannot be asked; nil if it can.
func Machines(ctx context.Context, cfg *config.Config, cloud Cloud, noCloud error, given map[string]string) map[string]Machine {
	all := map[string]Machine{}
	for _, set := range cfg.FlexSets() {
		name, err := given[set.Name], noCloud
		m, known := mig.KnownMachine(name)
		if known {
			all[set.Name] = Machine{MachineType: m, Source: "from slurmflex's built-in table"}
			continue
		}
		if err == nil {
			name, m, err = describe(ctx, cloud, set, name)
		}
		if err == nil {
			all[set.Name] = Machine{MachineType: m, Source: "as Compute describes it in " + set.Zones[0]}
			continue
		}
		all[set.Name] = Machine{Err: err}
		if m, known := mig.KnownMachine(name); known {
			all[set.Name] = Machine{MachineType: m, Source: "from slurmflex's built-in table, because Compute could not be queried: " + strings.Join(strings.Fields(err.Error()), " ")}
		}
	}
	return all
}

// describe asks Compute for a nodeset's machine type, whose name is that of its
// template unless it is given.
func describe(ctx context.Context, cloud Cloud, set *config.NodeSet, given string) (name string, m mig.MachineType, err error) {
	var t mig.Template
	if name = given; name == "" {
		if t, err = cloud.Template(ctx, set.Template); err != nil {
			return "", m, err
		}
		name = t.MachineType
	}
	m, err = cloud.MachineType(ctx, set.Zones[0], name)
	return name, t.Machine(m), err
}

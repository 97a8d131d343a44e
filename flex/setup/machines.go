package setup

import (
	"context"
	"strings"

	"slurmflex/config"
	"slurmflex/mig"
)

// catalog is the part of Compute that Machines needs.
type catalog interface {
	Template(ctx context.Context, link string) (mig.Template, error)
	MachineType(ctx context.Context, zone, name string) (mig.MachineType, error)
}

// Machines returns the machine types of slurmflex's nodesets: the given ones, or else those of the
// templates. A given type is described by the table in mig, or by Compute if the table lacks it.
// Other types are described by Compute, or by the table if Compute does not answer. noCloud is the
// reason why Compute cannot be queried; nil if it can.
func Machines(ctx context.Context, cfg *config.Config, cloud catalog, noCloud error, given map[string]string) map[string]Machine {
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

// describe queries Compute for a nodeset's machine type. The name of the type is that of the
// template unless it is given.
func describe(ctx context.Context, cloud catalog, set *config.NodeSet, given string) (name string, m mig.MachineType, err error) {
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

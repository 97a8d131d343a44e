package setup

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"slurmflex/config"
	"slurmflex/mig"
)

// Machine is the machine type of a nodeset's nodes.
type Machine struct {
	mig.MachineType
	Source string // the source of its numbers, for readers; empty if nothing is known
	Err    error  // why nothing is known
}

// family describes the virtual CPUs of a family of machine types.
type family struct {
	prefix  string
	threads int // threads per core
	socket  int // virtual CPUs per socket
}

// familyOf returns a machine type's family; false if it is unknown here. Source: Compute's page
// "CPU platforms". A2 and G2 run on Cascade Lake, A3 High and Mega on Sapphire Rapids, A3 Ultra and
// A4 on Emerald Rapids, and H4D on Turin without SMT. The largest type of each has two sockets.
func familyOf(machine string) (family, bool) {
	families := []family{
		{"a2-", 2, 48},
		{"a3-highgpu-", 2, 104},
		{"a3-megagpu-", 2, 104},
		{"a3-ultragpu-", 2, 112},
		{"a4-", 2, 112},
		{"g2-", 2, 48},
		{"h4d-", 1, 96},
	}
	i := slices.IndexFunc(families, func(f family) bool { return strings.HasPrefix(machine, f.prefix) })
	if i < 0 {
		return family{}, false
	}
	return families[i], true
}

// usable is the part of a machine's memory, in percent, that remains for Slurm. The kernel keeps a
// 64th for its tables, and slurmctld rejects a node with less memory than its RealMemory.
const usable = 94

// shapeKeys returns the parameters that describe a node's CPUs. They must fit together.
func shapeKeys() []string {
	return []string{"CPUs", "Procs", "Boards", "SocketsPerBoard", "Sockets", "CoresPerSocket", "ThreadsPerCore"}
}

// nodeParameters returns the parameters of a nodeset's line: those of node_conf, and the machine
// type's for the rest. A parameter that is empty in node_conf is left out.
func nodeParameters(set *config.NodeSet, m Machine) ([]parameter, error) {
	given := func(keys ...string) bool {
		for key := range set.NodeConf {
			if slices.ContainsFunc(keys, func(k string) bool { return strings.EqualFold(k, key) }) {
				return true
			}
		}
		return false
	}
	if m.Source == "" && !given(shapeKeys()...) {
		return nil, fmt.Errorf("nodeset %s: the CPUs and memory of its nodes are unknown: %w; set CPUs and RealMemory in nodeset.%[1]s.node_conf, or set the machine type with --machine %[1]s=TYPE", set.Name, m.Err)
	}
	var all []parameter
	switch described := given(shapeKeys()...); {
	case !described:
		all = shape(m.MachineType)
	case !given("CPUs", "Procs"):
		return nil, fmt.Errorf("nodeset %s: its node_conf has some of Sockets, CoresPerSocket and ThreadsPerCore, but not CPUs; set all of them or none", set.Name)
	}
	if m.Source != "" && !given("RealMemory") {
		all = append(all, parameter{"RealMemory", strconv.Itoa(m.Memory * usable / 100)})
	}
	if gpus := gpusOf(set, m.MachineType); gpus.Count > 0 && !given("Gres") {
		all = append(all, parameter{"Gres", gpus.String()})
	}
	for key, value := range set.NodeConf {
		switch {
		case len(strings.Fields(value)) > 1:
			return nil, fmt.Errorf("nodeset.%s.node_conf.%s: %q contains a space, which slurm.conf does not allow here; remove it", set.Name, key, value)
		case value != "" && !strings.EqualFold(key, "State"):
			all = append(all, parameter{key, value})
		}
	}
	slices.SortStableFunc(all, func(a, b parameter) int { return cmp.Or(rank(a.Key)-rank(b.Key), cmp.Compare(a.Key, b.Key)) })
	return all, nil
}

// shape returns a machine type's CPUs as slurmd finds them.
func shape(m mig.MachineType) []parameter {
	all := []parameter{{"CPUs", strconv.Itoa(m.CPUs)}}
	f, known := familyOf(m.Name)
	if !known {
		return all
	}
	sockets := (m.CPUs + f.socket - 1) / f.socket
	return append(all, []parameter{
		{"Sockets", strconv.Itoa(sockets)},
		{"CoresPerSocket", strconv.Itoa(m.CPUs / (sockets * f.threads))},
		{"ThreadsPerCore", strconv.Itoa(f.threads)},
	}...)
}

// rank orders the parameters of a line: the CPUs, then RealMemory and Gres, then all others.
func rank(key string) int {
	order := append(shapeKeys(), "RealMemory", "Gres")
	if i := slices.IndexFunc(order, func(k string) bool { return strings.EqualFold(k, key) }); i >= 0 {
		return i
	}
	return len(order)
}

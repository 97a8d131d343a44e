package slurmconf

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

// UnknownShapeError reports that the size of a nodeset's machine type is unknown.
type UnknownShapeError struct {
	NodeSet string
	Err     error
}

func (e *UnknownShapeError) Error() string {
	return fmt.Sprintf("nodeset %s: the CPUs and memory of its nodes are unknown: %v; set CPUs and RealMemory in nodeset.%[1]s.node_conf, or set the machine type with --machine %[1]s=TYPE",
		e.NodeSet, e.Err)
}

// Unwrap returns why the size is unknown.
func (e *UnknownShapeError) Unwrap() error { return e.Err }

// nodeParameters returns the parameters of a nodeset's line: those of node_conf, and the machine
// type's for the rest. A parameter that is empty in node_conf is left out.
func nodeParameters(set *config.NodeSet, m Machine) ([]Parameter, error) {
	given := func(keys ...string) bool {
		for key := range set.NodeConf {
			if slices.ContainsFunc(keys, func(k string) bool { return strings.EqualFold(k, key) }) {
				return true
			}
		}
		return false
	}
	if m.Source == "" && !given(shapeKeys()...) {
		return nil, &UnknownShapeError{set.Name, m.Err}
	}
	all, err := shape(set, m.MachineType)
	if err != nil {
		return nil, err
	}
	all = slices.DeleteFunc(all, func(p Parameter) bool {
		return given(p.Key) || p.Key == "CPUs" && given("Procs") || p.Key == "Sockets" && given("SocketsPerBoard")
	})
	if m.Source != "" && !given("RealMemory") {
		all = append(all, Parameter{"RealMemory", strconv.Itoa(m.Memory * usable / 100)})
	}
	if gpus := GPUsOf(set, m.MachineType); gpus.Count > 0 && !given("Gres") {
		all = append(all, Parameter{"Gres", gpus.String()})
	}
	for key, value := range set.NodeConf {
		switch {
		case len(strings.Fields(value)) > 1:
			return nil, fmt.Errorf("nodeset.%s.node_conf.%s: %q contains a space, which slurm.conf does not allow here; remove it", set.Name, key, value)
		case value != "" && !strings.EqualFold(key, "State"):
			all = append(all, Parameter{key, value})
		}
	}
	slices.SortStableFunc(all, func(a, b Parameter) int { return cmp.Or(rank(a.Key)-rank(b.Key), cmp.Compare(a.Key, b.Key)) })
	return all, nil
}

// layout is a node's CPUs; a number that is not set is 0.
type layout struct{ cpus, sockets, cores, threads int }

// layoutOf returns what node_conf sets; false if a number is invalid.
func layoutOf(conf map[string]string) (l layout, valid bool) {
	boards, perBoard := 1, 0
	of := map[string]*int{
		"cpus": &l.cpus, "procs": &l.cpus, "boards": &boards, "socketsperboard": &perBoard, "sockets": &l.sockets,
		"corespersocket": &l.cores, "threadspercore": &l.threads,
	}
	for key, value := range conf {
		if to := of[strings.ToLower(key)]; to != nil && value != "" {
			n, err := strconv.Atoi(value)
			if err != nil || n <= 0 {
				return l, false
			}
			*to = n
		}
	}
	l.sockets = cmp.Or(l.sockets, boards*perBoard)
	return l, true
}

// accepted reports whether Slurm keeps the CPUs of this layout. It counts missing cores and threads
// as 1 and computes missing sockets. Source: its read_config.c, and tests on 22.05.
func (l layout) accepted() bool {
	cores, threads := max(l.cores, 1), max(l.threads, 1)
	if l.sockets == 0 {
		return l.cpus > 0 && l.cpus%(cores*threads) == 0
	}
	return l.cpus == l.sockets || l.cpus == l.sockets*cores || l.cpus == l.sockets*cores*threads
}

// filled returns a layout with all numbers, on a machine with so many virtual CPUs.
func (l layout) filled(f family, cpus int) layout {
	if product := l.sockets * l.cores * l.threads; product > 0 {
		l.cpus = cmp.Or(l.cpus, product)
		return l
	}
	l.threads = cmp.Or(l.threads, f.threads)
	l.cpus = cmp.Or(l.cpus, cpus/f.threads*l.threads) // ThreadsPerCore=1 without SMT: half as many
	if l.sockets == 0 && l.cores == 0 {
		l.sockets = (cpus + f.socket - 1) / f.socket
	}
	if l.sockets == 0 {
		l.sockets = l.cpus / (l.cores * l.threads)
	} else if l.cores == 0 {
		l.cores = l.cpus / (l.sockets * l.threads)
	}
	return l
}

// shape returns a machine type's CPUs as slurmd finds them, as far as node_conf leaves them open. It
// returns nothing if Slurm computes the rest, and an error rather than what Slurm would reset.
func shape(set *config.NodeSet, m mig.MachineType) ([]Parameter, error) {
	l, valid := layoutOf(set.NodeConf)
	f, known := familyOf(m.Name)
	switch {
	case valid && (l.accepted() || l.cpus == 0 && m.CPUs == 0):
		return nil, nil
	case valid && l == (layout{}) && !known:
		return []Parameter{{"CPUs", strconv.Itoa(m.CPUs)}}, nil
	case !known:
		f = family{threads: max(l.threads, 1), socket: 1} // as Slurm reads it
	}
	if valid = valid && (l.cores > 0 || known && m.CPUs > 0); valid {
		l = l.filled(f, m.CPUs)
	}
	if !valid || l.cpus != l.sockets*l.cores*l.threads {
		return nil, fmt.Errorf("nodeset %s: its node_conf sets some of CPUs, Sockets, CoresPerSocket and ThreadsPerCore, from which the others do not follow; set all of them or none", set.Name)
	}
	return []Parameter{
		{"CPUs", strconv.Itoa(l.cpus)},
		{"Sockets", strconv.Itoa(l.sockets)},
		{"CoresPerSocket", strconv.Itoa(l.cores)},
		{"ThreadsPerCore", strconv.Itoa(l.threads)},
	}, nil
}

// rank orders the parameters of a line: the CPUs, then RealMemory and Gres, then all others.
func rank(key string) int {
	order := append(shapeKeys(), "RealMemory", "Gres")
	if i := slices.IndexFunc(order, func(k string) bool { return strings.EqualFold(k, key) }); i >= 0 {
		return i
	}
	return len(order)
}

package slurmconf

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"slurmflex/config"
	"slurmflex/mig"
)

// GPUs are the GPUs of a node, as its Gres names them: gpu:8, gpu:h100:8. A request for gpu:h100
// needs the type; a request for gpu matches either. Tested on 22.05, 24.11 and 26.05.
type GPUs struct {
	Type  string // empty if the Gres does not have a type
	Count int
}

// ParseGPUs parses the first GPUs of a Gres, as in slurm.conf or scontrol's output:
// gpu:h100:8(S:0-1),shard:64. It returns zero for a Gres without a number of GPUs.
func ParseGPUs(gres string) GPUs {
	for item := range strings.SplitSeq(gres, ",") {
		item, _, _ = strings.Cut(item, "(")
		parts := strings.Split(item, ":")
		if parts[0] != "gpu" || len(parts) > 3 {
			continue
		}
		g := GPUs{}
		if len(parts) == 3 {
			g.Type = parts[1]
		}
		g.Count, _ = strconv.Atoi(parts[len(parts)-1])
		return g
	}
	return GPUs{}
}

// GPUsOf returns the GPUs of a nodeset's nodes: those in node_conf, or else those of the machine
// type, under the name that users and their tools request.
func GPUsOf(set *config.NodeSet, m mig.MachineType) GPUs {
	for key, value := range set.NodeConf {
		if strings.EqualFold(key, "Gres") {
			return ParseGPUs(value)
		}
	}
	return GPUs{mig.GPUType(m.GPU), m.GPUs}
}

// String returns the Gres; empty without GPUs.
func (g GPUs) String() string {
	switch {
	case g.Count == 0:
		return ""
	case g.Type == "":
		return "gpu:" + strconv.Itoa(g.Count)
	}
	return "gpu:" + g.Type + ":" + strconv.Itoa(g.Count)
}

// gresConf is what gres.conf needs.
type gresConf struct {
	kinds map[string]bool // the nodes' kinds of Gres, and whether all nodes with that kind have a line
	lines strings.Builder // for the GPUs, each as a comment
}

// add adds the Gres of nodes with these parameters.
func (c *gresConf) add(names string, parameters []Parameter) {
	for _, p := range parameters {
		if !strings.EqualFold(p.Key, "Gres") {
			continue
		}
		gpus := ParseGPUs(p.Value)
		if gpus.Count > 0 {
			fmt.Fprintf(&c.lines, "# NodeName=%s %s\n", names, gpus.devices())
		}
		for item := range strings.SplitSeq(p.Value, ",") {
			kind, _, _ := strings.Cut(item, ":")
			others, known := c.kinds[kind]
			c.kinds[kind] = kind == "gpu" && gpus.Count > 0 && (others || !known)
		}
	}
}

// text returns the lines for gres.conf, and the kinds of Gres for which there are none.
func (c *gresConf) text() string {
	if len(c.kinds) == 0 {
		return ""
	}
	var own []string
	for _, kind := range slices.Sorted(maps.Keys(c.kinds)) {
		if !c.kinds[kind] {
			own = append(own, kind)
		}
	}
	if len(own) == 0 {
		return "\n# For gres.conf:\n" + c.lines.String()
	}
	return "\n# For gres.conf (add your own lines for " + strings.Join(own, ", ") + "):\n" + c.lines.String()
}

// devices returns the gres.conf parameters of these GPUs.
func (g GPUs) devices() string {
	line := "Name=gpu"
	if g.Type != "" {
		line += " Type=" + g.Type
	}
	if g.Count == 1 {
		return line + " File=/dev/nvidia0"
	}
	return line + " File=/dev/nvidia[0-" + strconv.Itoa(g.Count-1) + "]"
}

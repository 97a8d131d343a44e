package slurmconf

import (
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

package setup

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"slurmflex/config"
	"slurmflex/mig"
	"slurmflex/slurm"
)

// gpusIn returns the first GPUs of a Gres, as in slurm.conf or scontrol's output; zero for none. A
// request for gpu:h100 needs the type; a request for gpu matches either. Tested on 22.05, 24.11 and
// 26.05.
func gpusIn(gres string) slurm.Gres {
	for _, g := range slurm.ParseGres(gres) {
		if g.Name == "gpu" {
			return g
		}
	}
	return slurm.Gres{}
}

// gpusOf returns the GPUs of a nodeset's nodes: those in node_conf, or else those of the machine
// type, under the name that users and their tools request; zero for none.
func gpusOf(set *config.NodeSet, m mig.MachineType) slurm.Gres {
	for key, value := range set.NodeConf {
		if strings.EqualFold(key, "Gres") {
			return gpusIn(value)
		}
	}
	if m.GPUs == 0 {
		return slurm.Gres{}
	}
	return slurm.Gres{Name: "gpu", Type: gpuType(m.GPU), Count: m.GPUs}
}

// gpuType returns the common name of an accelerator type: h100 for nvidia-h100-80gb and
// nvidia-h100-mega-80gb, t4 for nvidia-tesla-t4. NVML's names for these GPUs contain the common
// name, as Slurm's AutoDetect requires.
func gpuType(accelerator string) string {
	name := strings.TrimPrefix(strings.TrimPrefix(accelerator, "nvidia-"), "tesla-")
	return variant.ReplaceAllString(name, "")
}

// variant matches the suffix of an accelerator type after the GPU's name: memory, network,
// workstation.
var variant = regexp.MustCompile(`(-mega)?(-\d+gb)?(-vws)?$`)

// gresConf is what gres.conf needs.
type gresConf struct {
	kinds map[string]bool // the nodes' kinds of Gres, and whether all nodes with that kind have a line
	lines strings.Builder // for the GPUs, each as a comment
}

// add adds the Gres of nodes with these parameters.
func (c *gresConf) add(names string, parameters []parameter) {
	for _, p := range parameters {
		if !strings.EqualFold(p.Key, "Gres") {
			continue
		}
		gpus := gpusIn(p.Value)
		if gpus.Count > 0 {
			fmt.Fprintf(&c.lines, "# NodeName=%s %s\n", names, devices(gpus))
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
func devices(g slurm.Gres) string {
	line := "Name=gpu"
	if g.Type != "" {
		line += " Type=" + g.Type
	}
	if g.Count == 1 {
		return line + " File=/dev/nvidia0"
	}
	return line + " File=/dev/nvidia[0-" + strconv.Itoa(g.Count-1) + "]"
}

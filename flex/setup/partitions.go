package setup

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	"slurmflex/config"
	"slurmflex/slurm"
)

// partitions compares Slurm's partitions with the configuration's.
func (j *judge) partitions() {
	for _, p := range j.cfg.Partitions {
		var nodes []string
		for _, set := range j.cfg.SetsOf(p) {
			if set.Flex != nil {
				nodes = append(nodes, nodeNames(j.cfg, set)...)
			}
		}
		if len(nodes) == 0 {
			continue
		}
		i := slices.IndexFunc(j.world.Partitions.Is, func(s slurm.Partition) bool { return s.Name == p.Name })
		if i < 0 {
			j.say(Fault, "partitions."+p.Name, "Slurm has no such partition; add PartitionName=%s Nodes=%s to slurm.conf (see slurmflex config slurm-conf), or remove this",
				p.Name, slurm.Fold(nodes))
			continue
		}
		j.partition(p, j.world.Partitions.Is[i], nodes)
	}
}

// partition compares one of Slurm's partitions with the configuration's. nodes are the slurmflex
// nodes that the partition should have.
func (j *judge) partition(p config.Partition, is slurm.Partition, nodes []string) {
	if missing := without(nodes, is.Nodes); len(missing) > 0 {
		j.conf(Fault, "PartitionName="+p.Name, "lacks %s of partition_nodeset; add them to its Nodes=", slurm.Fold(missing))
	}
	if leasesFollow(j.cfg, p) && is.DefaultTime.Kind != slurm.LimitSet {
		j.conf(Advice, "PartitionName="+p.Name, "has no DefaultTime, so slurmflex requests machines for MaxTime=%s for a job without --time; add DefaultTime to its line", is.MaxTime)
	}
	switch {
	case p.Exclusive && !is.Exclusive:
		j.conf(Fault, "PartitionName="+p.Name, "shares its nodes between jobs, but enable_job_exclusive is set; add %s", exclusiveOn(j.version).text())
	case !p.Exclusive && is.Exclusive:
		j.say(Fault, "partitions."+p.Name+".enable_job_exclusive", "Slurm allocates the nodes of %s to one job at a time; set this to true", p.Name)
	case longestIdle(j.cfg, p) > 0:
		j.keepIdle(p, is)
	case p.Exclusive && !is.PowerDownOnIdle && powersDownOnIdle(j.version):
		j.conf(Fault, "PartitionName="+p.Name, "keeps its nodes after the job that their leases were made for; add PowerDownOnIdle=YES")
	}
	if write := (requirements{Config: j.cfg}).maxTime(p, is.MaxTime); write != "" {
		j.conf(Advice, "PartitionName="+p.Name, "lets jobs run longer (MaxTime=%s) than their leases, which end them; set MaxTime=%s", is.MaxTime, write)
	}
	j.resumeTimeout(p, is)
	j.pendingIn(is)
}

// keepIdle checks what ends the idle time of kept nodes. Their job must not end it, and Slurm must
// if slurmflex does not.
func (j *judge) keepIdle(p config.Partition, is slurm.Partition) {
	if is.PowerDownOnIdle {
		j.conf(Fault, "PartitionName="+p.Name, "powers nodes down as soon as their job ends, but keep_idle or salvage is set; remove PowerDownOnIdle=YES")
	}
	keep := longestIdle(j.cfg, p)
	after := j.suspendTime(is)
	switch write := suspendAfter(keep).text(); {
	case after.Kind == slurm.LimitUnknown:
	case after.Kind == slurm.Unlimited:
		j.conf(Fault, "PartitionName="+p.Name, "never powers idle nodes down, so nothing ends keep_idle or salvage while slurmflex is down; set %s", write)
	case after.Duration < keep:
		j.conf(Fault, "PartitionName="+p.Name, "powers down nodes that have been idle for %.0f s, sooner than keep_idle or salvage_timeout; set %s", after.Duration.Seconds(), write)
	}
}

// suspendTime returns the SuspendTime that applies to the nodes of a partition: the partition's
// own, or the cluster's.
func (j *judge) suspendTime(is slurm.Partition) slurm.Limit {
	if is.SuspendTime.Kind != slurm.LimitUnknown || !showsSuspendTime(j.version) {
		return is.SuspendTime
	}
	return j.world.Conf.Is.Seconds("SuspendTime")
}

// showsSuspendTime reports whether scontrol shows a partition's own SuspendTime.
func showsSuspendTime(v slurm.Version) bool { return v.AtLeast(23, 2) }

// resumeTimeout checks a partition's own ResumeTimeout, which overrides the cluster's.
func (j *judge) resumeTimeout(p config.Partition, is slurm.Partition) {
	if is.ResumeTimeout.Kind != slurm.LimitSet { // Unlimited is right
		return
	}
	value := strconv.Itoa(int(is.ResumeTimeout.Duration.Seconds()))
	if wrong, write := (requirements{Config: j.cfg}).resumeTimeout(value); wrong != "" {
		j.conf(Fault, "PartitionName="+p.Name, "its ResumeTimeout: %s; set ResumeTimeout=%s", wrong, write)
	}
}

// nodes compares Slurm's nodes with the nodesets.
func (j *judge) nodes() {
	there := map[string]slurm.Node{}
	for _, n := range j.world.Nodes.Is {
		there[n.Name] = n
	}
	// In this case Slurm hides powered-down nodes, so a missing node is not a finding.
	hidden := !j.version.AtLeast(23, 2) && !slices.Contains(j.world.Conf.Is.List("PrivateData"), "cloud")
	for _, set := range j.cfg.FlexSets() {
		var missing, fixed []string
		names := nodeNames(j.cfg, set)
		for _, name := range names {
			switch n, ok := there[name]; {
			case !ok:
				missing = append(missing, name)
			case !n.State.Has(slurm.Cloud):
				fixed = append(fixed, name)
			}
		}
		if len(missing) > 0 && !hidden {
			j.say(Fault, "nodeset."+set.Name, "Slurm does not know %s; add NodeName=%[1]s … State=CLOUD to slurm.conf (see slurmflex config slurm-conf)", slurm.Fold(missing))
		}
		if len(fixed) > 0 {
			j.conf(Fault, "NodeName="+slurm.Fold(fixed), "Slurm does not power these nodes up and down; add State=CLOUD to their line")
		}
		j.addresses(set, names)
		j.gres(set, there)
	}
	if names := slurm.Fold(j.unknown(true)); names != "" {
		j.say(Fault, "nodeset", "Slurm also has %s, but slurmflex never requests machines for them; correct the nodesets or slurm_cluster_name, or remove them from slurm.conf", names)
	}
}

// gres compares the GPUs of a nodeset's nodes with those that config slurm-conf writes.
func (j *judge) gres(set *config.NodeSet, there map[string]slurm.Node) {
	m, known := j.machine(set)
	if !known {
		return
	}
	want := gpusOf(set, m)
	others := map[string][]string{} // by Slurm's Gres
	for _, name := range nodeNames(j.cfg, set) {
		if is := gpusIn(there[name].Gres); is != want && there[name].Name != "" {
			others[is.String()] = append(others[is.String()], name)
		}
	}
	for _, gres := range slices.Sorted(maps.Keys(others)) {
		names := slurm.Fold(others[gres])
		switch is := gpusIn(gres); {
		case is.Count > m.GPUs:
			j.conf(Fault, "NodeName="+names, "Gres=%s is more than the %d GPUs of %s, so Slurm drains the nodes; set %s", gres, m.GPUs, m.Name, written(want))
		default:
			j.conf(Advice, "NodeName="+names, "Gres=%q is not what config slurm-conf writes for %s; set %s, or add Gres: %[1]q to node_conf to keep it", gres, m.Name, written(want))
		}
	}
}

// written returns the text for these GPUs in slurm.conf and gres.conf.
func written(g slurm.Gres) string {
	switch {
	case g.Count == 0:
		return "no Gres"
	case g.Type == "":
		return "Gres=" + g.String()
	}
	return fmt.Sprintf("Gres=%s, and Type=%s in gres.conf", g, g.Type)
}

// unknown returns the nodes of Slurm that no nodeset has: those that Slurm powers up and down, or those that
// are always on.
func (j *judge) unknown(cloud bool) []string {
	var names []string
	for _, n := range j.world.Nodes.Is {
		if _, _, known := j.cfg.Find(n.Name); !known && n.State.Has(slurm.Cloud) == cloud {
			names = append(names, n.Name)
		}
	}
	return names
}

// without returns the names that are not among the others.
func without(names, others []string) []string {
	among := map[string]bool{}
	for _, o := range others {
		among[o] = true
	}
	return slices.DeleteFunc(slices.Clone(names), func(n string) bool { return among[n] })
}

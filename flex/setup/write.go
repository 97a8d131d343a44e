package setup

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"slurmflex/config"
	"slurmflex/slurm"
)

// Input is the input for the part of slurm.conf that slurmflex writes.
type Input struct {
	Config   *config.Config
	Version  slurm.Version
	Programs string             // folder of resume, suspend and resume-fail
	Machines map[string]Machine // by nodeset
}

// alwaysOn follows SuspendExcNodes, the last of the rules, because only the admin knows the nodes
// that are not in a nodeset.
const alwaysOn = `# SuspendTime applies to all nodes. Add nodes that are always on and in no nodeset to
# SuspendExcNodes, or their partition to SuspendExcParts; otherwise Slurm powers them down.
`

// textOf returns the part of slurm.conf that this configuration needs on this version of Slurm:
// programs, times, nodes and partitions.
func textOf(in Input) (string, error) {
	nodes, gres, err := nodeLines(in)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "# For slurm.conf of Slurm %d.%02d, written by slurmflex config slurm-conf. Replace\n# existing settings: if one appears twice, the last wins.\n", in.Version.Major, in.Version.Minor)
	for _, h := range hooks() {
		setting(&b, h.Key, h.program(in.Programs))
	}
	if len(gres.kinds) > 0 {
		setting(&b, "GresTypes", strings.Join(slices.Sorted(maps.Keys(gres.kinds)), ","))
	}
	for _, rule := range rulesFor(requirements{Config: in.Config, Version: in.Version}) {
		_, value := rule.Judge("")
		setting(&b, rule.Key, value)
	}
	b.WriteString(alwaysOn + "\n" + nodes + "\n" + partitionLines(in))
	b.WriteString(gres.text())
	return b.String(), nil
}

func setting(b *strings.Builder, key, value string) { fmt.Fprintf(b, "%s=%s\n", key, value) }

// nodeLines returns the lines of slurmflex's nodesets, and what gres.conf needs for them.
func nodeLines(in Input) (nodes string, gres *gresConf, err error) {
	var n strings.Builder
	gres = &gresConf{kinds: map[string]bool{}}
	for _, set := range in.Config.NodeSets {
		if set.Size() == 0 {
			continue
		}
		names := slurm.Fold(nodeNames(in.Config, set))
		if set.Flex == nil {
			fmt.Fprintf(&n, "# %s: not flex-start nodes; keep their NodeName line\n", names)
			continue
		}
		m := in.Machines[set.Name]
		parameters, err := nodeParameters(set, m)
		if err != nil {
			return "", nil, err
		}
		fmt.Fprintf(&n, "# %s\n", about(set, m))
		fmt.Fprintf(&n, "NodeName=%s%s State=CLOUD\n", names, joined(parameters))
		gres.add(names, parameters)
	}
	return n.String(), gres, nil
}

func about(set *config.NodeSet, m Machine) string {
	if m.Source == "" {
		return "nodeset " + set.Name + ": CPUs and memory from node_conf"
	}
	return fmt.Sprintf("nodeset %s: %s, %s", set.Name, m.Name, m.Source)
}

// nodeNames returns the names of a nodeset's nodes.
func nodeNames(cfg *config.Config, set *config.NodeSet) []string {
	names := make([]string, set.Size())
	for i := range names {
		names[i] = set.NodeName(cfg.Cluster, i)
	}
	return names
}

// partitionLines returns the lines of the partitions with slurmflex nodes.
func partitionLines(in Input) string {
	var b strings.Builder
	for _, p := range in.Config.Partitions {
		sets := in.Config.SetsOf(p)
		ours := slices.ContainsFunc(sets, func(s *config.NodeSet) bool { return s.Flex != nil && s.Size() > 0 })
		if !ours {
			fmt.Fprintf(&b, "# partition %s has no flex-start nodes; keep its line\n", p.Name)
			continue
		}
		var names []string
		for _, s := range sets {
			names = append(names, nodeNames(in.Config, s)...)
		}
		parameters := merged(partitionParameters(in, p), p.Conf)
		fmt.Fprintf(&b, "PartitionName=%s Nodes=%s%s\n", p.Name, slurm.Fold(names), joined(parameters))
	}
	return b.String()
}

func partitionParameters(in Input, p config.Partition) []parameter {
	all, keep := []parameter{{"State", "UP"}}, longestIdle(in.Config, p)
	if p.Exclusive {
		all = append(all, exclusiveOn(in.Version))
		if powersDownOnIdle(in.Version) && keep == 0 {
			all = append(all, parameter{"PowerDownOnIdle", "YES"})
		}
	}
	if keep > 0 {
		all = append(all, suspendAfter(keep))
	}
	longest := slurm.Clock(in.Config.LongestJob(p))
	if longerThanLeases(in.Config, p) {
		longest = "UNLIMITED"
	}
	return append(all, parameter{"MaxTime", longest})
}

// longerThanLeases reports whether jobs of a slurmflex partition may run longer than any lease.
// That is true if each of its nodesets either requeues jobs before a lease ends or does not have
// leases.
func longerThanLeases(c *config.Config, p config.Partition) bool {
	return c.IsOurs(p) && !slices.ContainsFunc(c.SetsOf(p), func(set *config.NodeSet) bool {
		return set.Flex != nil && set.Flex.MaxRunDuration > 0 && set.Flex.OnLeaseEnd != config.RequeueFirst
	})
}

// leasesFollow reports whether leases in a partition follow the time limits of jobs.
func leasesFollow(c *config.Config, p config.Partition) bool {
	return slices.ContainsFunc(c.SetsOf(p), func(set *config.NodeSet) bool { return set.Flex != nil && set.Flex.UseJobDuration })
}

// longestIdle returns the longest time that keep_idle or salvage may keep a node of the partition
// idle; 0 if neither does.
func longestIdle(c *config.Config, p config.Partition) (longest time.Duration) {
	for _, set := range c.SetsOf(p) {
		if set.Flex != nil {
			longest = max(longest, set.Flex.KeepIdle)
			if set.Flex.Salvage {
				longest = max(longest, set.Flex.SalvageTimeout)
			}
		}
	}
	return longest
}

// merged replaces parameters of a line by those of others. It leaves out ResumeTimeout, because the
// cluster's value is correct.
func merged(own []parameter, others map[string]string) []parameter {
	is := func(key string) func(parameter) bool {
		return func(p parameter) bool { return strings.EqualFold(p.Key, key) }
	}
	for _, key := range slices.Sorted(maps.Keys(others)) {
		if i := slices.IndexFunc(own, is(key)); i >= 0 {
			own[i].Value = others[key]
		} else if !strings.EqualFold(key, "ResumeTimeout") {
			own = append(own, parameter{key, others[key]})
		}
	}
	return own
}

// exclusiveOn returns the parameter that makes Slurm share no node between jobs. 26.05 still
// accepts OverSubscribe=EXCLUSIVE, except if PartitionName=DEFAULT or the line itself has an
// Exclusive. Source: its slurm.conf(5), and a test on 26.05.5.
func exclusiveOn(v slurm.Version) parameter {
	if v.AtLeast(26, 5) {
		return parameter{"Exclusive", "NODE"}
	}
	return parameter{"OverSubscribe", "EXCLUSIVE"}
}

// powersDownOnIdle reports whether partitions support PowerDownOnIdle. On older versions, slurmflex
// marks the nodes itself.
func powersDownOnIdle(v slurm.Version) bool { return v.AtLeast(23, 2) }

// shortestSuspend is the shortest SuspendTime for jobs that wait pending. The first machine of such
// a job may have to wait this long for the last one.
const shortestSuspend = 5 * time.Minute

// suspendAfter returns the parameter that makes Slurm power down a partition's idle nodes after
// keep_idle or salvage_timeout, even while slurmflex is down, but not before shortestSuspend. A node
// in several partitions gets the longest of their values, or else the cluster's value. Source:
// tests on 22.05, 24.11 and 26.05.
func suspendAfter(keep time.Duration) parameter {
	return parameter{"SuspendTime", strconv.Itoa(int(max(keep, shortestSuspend).Seconds()))}
}

// parameter is one Key=Value of a line with several.
type parameter struct{ Key, Value string }

func (p parameter) text() string { return p.Key + "=" + p.Value }

func joined(parameters []parameter) string {
	var b strings.Builder
	for _, p := range parameters {
		b.WriteString(" " + p.text())
	}
	return b.String()
}

package config

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Partition is a partition of Slurm.
type Partition struct {
	Name      string            `key:"-"` // its key
	Exclusive bool              `key:"enable_job_exclusive" doc:"One job per node (OverSubscribe=EXCLUSIVE, from 26.05 Exclusive=NODE), powered down after it."`
	NodeSets  []string          `key:"partition_nodeset" doc:"The partition's nodesets."` // each once, in the order of the file
	Conf      map[string]string `key:"partition_conf" doc:"Parameters of PartitionName that config slurm-conf writes, such as {MaxTime: 2-0}."`
	_         struct{}          `key:"partition_name" values:"name" doc:"Of slurm-gcp. slurmflex uses the partition's key."`
	_         struct{}          `key:"partition_nodeset_dyn" values:"list of names" doc:"Of slurm-gcp. slurmflex reads only names."`
	_         struct{}          `key:"partition_nodeset_tpu" values:"list of names" doc:"Of slurm-gcp. slurmflex reads only names."`
}

// SetsOf returns a partition's nodesets, including those that slurmflex does not provision.
func (c *Config) SetsOf(p Partition) []*NodeSet {
	var sets []*NodeSet
	for _, set := range c.NodeSets {
		if slices.Contains(p.NodeSets, set.Name) {
			sets = append(sets, set)
		}
	}
	return sets
}

// IsOurs reports whether a partition has nodes that slurmflex provisions.
func (c *Config) IsOurs(p Partition) bool {
	return slices.ContainsFunc(c.SetsOf(p), func(set *NodeSet) bool { return set.Flex != nil })
}

// HasOurs reports whether one of the partitions, which commas separate, has nodes that slurmflex provisions.
func (c *Config) HasOurs(partitions string) bool {
	for name := range strings.SplitSeq(partitions, ",") {
		if p, known := c.Partition(name); known && c.IsOurs(*p) {
			return true
		}
	}
	return false
}

// longestPendingInterval is the longest interval at which jobs can wait pending, because only the
// daemon's passes keep the covers and the doors from starting or ending.
const longestPendingInterval = 2 * time.Minute

// Uncovered returns, for nodesets of slurmflex, why their jobs cannot wait pending, as far as the
// configuration shows. A job of one of their partitions may fit some of the nodes and not others.
// Nodesets without such a reason are not in the map.
func (c *Config) Uncovered() map[*NodeSet]string {
	why, used := map[*NodeSet]string{}, map[*NodeSet]bool{}
	for _, p := range c.Partitions {
		for _, set := range c.SetsOf(p) {
			used[set] = true
			switch {
			case set.Flex == nil:
			case !p.Exclusive:
				why[set] = fmt.Sprintf("jobs of partition %s share nodes", p.Name)
			}
		}
	}
	for _, set := range c.FlexSets() {
		switch {
		case !used[set]:
			why[set] = "no partition has it"
		case c.Options.Interval > longestPendingInterval:
			why[set] = fmt.Sprintf("interval is longer than %s", longestPendingInterval)
		}
	}
	return why
}

// LongestJob returns the longest time limit that every lease in a partition covers, in whole
// minutes as Slurm counts it; 0 if the partition's machines do not have leases.
func (c *Config) LongestJob(p Partition) time.Duration {
	var longest time.Duration
	for _, set := range c.SetsOf(p) {
		if set.Flex == nil || set.Flex.MaxRunDuration == 0 {
			continue
		}
		lease := set.Flex.MaxRunDuration
		if set.Flex.UseJobDuration {
			lease -= set.Flex.JobDurationMargin
		}
		lease = lease.Truncate(time.Minute)
		longest = min(cmp.Or(longest, lease), lease)
	}
	return longest
}

// readPartitions reads the partitions, sorted by name. known has all nodesets.
func readPartitions(root *section, known []*NodeSet) []Partition {
	var names []string
	for _, ns := range known {
		names = append(names, ns.Name)
	}
	var all []Partition
	for _, s := range root.sections("partitions") {
		all = append(all, readPartition(s, names))
	}
	slices.SortStableFunc(all, func(a, b Partition) int { return cmp.Compare(a.Name, b.Name) })
	return all
}

func readPartition(s *section, known []string) Partition {
	p := Partition{Name: s.name}
	s.value("partition_name")
	s.read(&p, only("enable_job_exclusive", "partition_conf"))
	if strings.EqualFold(p.Name, "default") {
		s.r.problem(s.line, s.path, "PartitionName=%s sets the defaults of all partitions in slurm.conf; choose another name", p.Name)
	}
	for _, key := range []string{"partition_nodeset", "partition_nodeset_tpu", "partition_nodeset_dyn"} {
		for i, name := range s.texts(key) {
			if !slices.Contains(known, name) {
				s.itemProblem(key, i, "unknown nodeset %s; %s", quote(name), suggest(name, known, "define it or remove it"))
			}
			if !slices.Contains(p.NodeSets, name) {
				p.NodeSets = append(p.NodeSets, name)
			}
		}
	}
	s.r.ignored = append(s.r.ignored, s.ignore()...)
	return p
}

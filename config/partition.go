package config

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// Partition is a partition of Slurm.
type Partition struct {
	Name      string   `key:"partition_name" form:"name"`
	Exclusive bool     `key:"enable_job_exclusive"` // a job gets whole nodes
	NodeSets  []string `key:"partition_nodeset"`    // ours and others', in the order of the file
	Line      int      `key:"-"`
}

// SetsOf are a partition's nodesets, ours and others'.
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

// longestPendingInterval is the longest interval with which jobs wait pending: the daemon moves the
// start of a job's door, five minutes ahead, in its passes.
const longestPendingInterval = 2 * time.Minute

// Uncovered returns why the jobs of nodesets of ours cannot wait pending, as far as the configuration
// shows: a job of one of their partitions may fit some of the nodes and not others. Other nodesets are
// not in the map.
func (c *Config) Uncovered() map[*NodeSet]string {
	why, used := map[*NodeSet]string{}, map[*NodeSet]bool{}
	for _, p := range c.Partitions {
		for _, set := range c.SetsOf(p) {
			used[set] = true
			switch {
			case set.Flex == nil:
			case !p.Exclusive:
				why[set] = fmt.Sprintf("jobs of partition %s share nodes", p.Name)
			case len(p.NodeSets) > 1:
				why[set] = fmt.Sprintf("partition %s has several nodesets", p.Name)
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

// LongestJob is the longest time limit, in whole minutes as Slurm counts it, that
// every lease in a partition covers; 0 if none of its machines has a lease.
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
		lease = max(lease, time.Minute).Truncate(time.Minute)
		longest = min(cmp.Or(longest, lease), lease)
	}
	return longest
}

// LongerThanLeases reports whether jobs of a partition of ours may run longer than any
// lease: each of its nodesets requeues them before a lease ends, or has none.
func (c *Config) LongerThanLeases(p Partition) bool {
	return c.IsOurs(p) && !slices.ContainsFunc(c.SetsOf(p), func(set *NodeSet) bool {
		return set.Flex != nil && set.Flex.MaxRunDuration > 0 && set.Flex.OnLeaseEnd != RequeueFirst
	})
}

// LeasesFollow reports whether leases in a partition follow the time limits of jobs.
func (c *Config) LeasesFollow(p Partition) bool {
	return slices.ContainsFunc(c.SetsOf(p), func(set *NodeSet) bool { return set.Flex != nil && set.Flex.UseJobDuration })
}

// KeepIdle is the longest that an idle node of a partition may stay, by keep_idle or by salvage; 0 if
// none may.
func (c *Config) KeepIdle(p Partition) (longest time.Duration) {
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

// readPartitions reads the partitions, sorted by name; known are all nodesets.
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
	p := Partition{Line: s.line}
	s.read(&p, only("partition_name", "enable_job_exclusive"))
	for _, key := range []string{"partition_nodeset", "partition_nodeset_tpu", "partition_nodeset_dyn"} {
		for i, name := range s.texts(key) {
			if !slices.Contains(known, name) {
				s.itemProblem(key, i, "unknown nodeset %s; %s", quote(name), instead(name, known))
			}
			p.NodeSets = append(p.NodeSets, name)
		}
	}
	s.r.ignored = append(s.r.ignored, s.ignore()...)
	return p
}

// instead is the fix for a nodeset that does not exist.
func instead(name string, known []string) string {
	if near, ok := nearest(name, known); ok {
		return "did you mean " + near + "?"
	}
	return "define it or remove it"
}

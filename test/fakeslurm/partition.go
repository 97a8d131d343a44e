package fakeslurm

import (
	"context"
	"time"

	"slurmflex/slurm"
)

// partition is a partition with those of its nodes that the cluster has.
type partition struct {
	slurm.Partition
	nodes  []*node
	closed bool
}

// ClosePartition acts like scontrol update partitionname=… state=DOWN: it stops the partition from starting
// jobs.
func (c *Cluster) ClosePartition(ctx context.Context, name string) error {
	if err := c.ask(ctx); err != nil {
		return err
	}
	defer c.mu.Unlock()
	c.partition(name).closed = true
	return nil
}

// addPartition adds a partition with those of its nodes that the cluster has. A node uses the
// longest ResumeTimeout and SuspendTime of its partitions, or the cluster's if none sets them.
func (c *Cluster) addPartition(p slurm.Partition) {
	if p.MaxTime.Kind == slurm.LimitUnknown {
		p.MaxTime = slurm.Limit{Kind: slurm.Unlimited}
	}
	added := &partition{Partition: p}
	for _, name := range p.Nodes {
		n := c.byName[name]
		if n == nil {
			continue
		}
		n.partitions = append(n.partitions, p.Name)
		added.nodes = append(added.nodes, n)
		if p.ResumeTimeout.Kind == slurm.LimitSet {
			n.resumeTimeout = max(n.resumeTimeout, p.ResumeTimeout.Duration)
		}
		if p.SuspendTime.Kind == slurm.LimitSet {
			n.suspendTime = max(n.suspendTime, p.SuspendTime.Duration)
		}
	}
	added.Nodes = names(added.nodes)
	c.partitions = append(c.partitions, added)
}

// partition returns the named partition, or nil.
func (c *Cluster) partition(name string) *partition {
	for _, p := range c.partitions {
		if p.Name == name {
			return p
		}
	}
	return nil
}

// partitionsOf returns the named partitions, or nil if one of them does not exist.
func (c *Cluster) partitionsOf(names []string) (found []*partition) {
	for _, name := range names {
		p := c.partition(name)
		if p == nil {
			return nil
		}
		found = append(found, p)
	}
	return found
}

// takes reports whether jobs with this time limit can start in the partition.
func (p *partition) takes(limit slurm.Limit) bool {
	return p.MaxTime.Kind != slurm.LimitSet || limit.Kind == slurm.LimitSet && limit.Duration <= p.MaxTime.Duration
}

// limit returns the time limit of a job in the partition that requests want.
func (p *partition) limit(want time.Duration) slurm.Limit {
	if want == 0 {
		return p.MaxTime
	}
	whole := (want + time.Minute - 1).Truncate(time.Minute)
	return slurm.Limit{Kind: slurm.LimitSet, Duration: whole}
}

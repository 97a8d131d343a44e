package estimate

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"slurmflex/config"
	"slurmflex/flex/view"
	"slurmflex/mig"
)

// whatIfTimes are the time limits of the table.
var whatIfTimes = []time.Duration{time.Hour, 6 * time.Hour, 24 * time.Hour, 7 * 24 * time.Hour}

// ask returns the question about a request for a nodeset.
func ask(set *config.NodeSet, partition string, nodes int, lease time.Duration) Question {
	q := Question{
		NodeSet: set.Name, Partition: partition, Request: Request{Count: nodes, Lease: int64(lease.Seconds())}, Most: set.Size(),
		After: int64(set.Flex.AskElsewhereAfter.Seconds()),
	}
	if !set.Flex.UseJobDuration {
		q.Times, q.Leases = []int64{0}, []int64{int64(leaseOf(set, 0).Seconds())}
		return q
	}
	for _, limit := range whatIfTimes {
		if lease := leaseOf(set, limit); lease >= limit {
			q.Times, q.Leases = append(q.Times, int64(limit.Seconds())), append(q.Leases, int64(lease.Seconds()))
		}
	}
	return q
}

// leaseOf returns the lease that a job with that time limit needs; 0 without leases.
func leaseOf(set *config.NodeSet, limit time.Duration) time.Duration {
	longest := min(set.Flex.MaxRunDuration, mig.MaxDuration)
	if !set.Flex.UseJobDuration || limit == 0 {
		return longest
	}
	return min(max(limit+set.Flex.JobDurationMargin, mig.MinDuration), longest)
}

// ofPartition returns the questions about a job with that many nodes, one for each nodeset of the
// partition. A limit of 0 means no time limit.
func ofPartition(cfg *config.Config, partition string, nodes int, limit time.Duration) (questions []Question, err error) {
	sets, err := flexSetsOf(cfg, partition)
	if err != nil {
		return nil, err
	}
	most := 0
	for _, set := range sets {
		most = max(most, set.Size())
		if nodes <= set.Size() {
			questions = append(questions, ask(set, partition, nodes, leaseOf(set, limit)))
		}
	}
	if nodes < 1 || len(questions) == 0 {
		return nil, fmt.Errorf("--nodes %d: partition %s has nodesets of up to %d nodes", nodes, partition, most)
	}
	return questions, nil
}

// flexSetsOf returns the flex-start nodesets of a partition.
func flexSetsOf(cfg *config.Config, partition string) (sets []*config.NodeSet, err error) {
	var others []string
	for _, p := range cfg.Partitions {
		ours := slices.DeleteFunc(cfg.SetsOf(p), func(set *config.NodeSet) bool { return set.Flex == nil })
		switch {
		case len(ours) == 0:
		case p.Name == partition:
			return ours, nil
		default:
			others = append(others, p.Name)
		}
	}
	return nil, fmt.Errorf("partition %q has no flex-start nodes; choose one of: %s", partition, strings.Join(others, ", "))
}

// OfJob returns the questions about a waiting job, one for each nodeset.
func OfJob(cfg *config.Config, v *view.View, name string, now time.Time) (questions []Question, err error) {
	job, rows, err := v.Find(name)
	if err != nil {
		return nil, err
	}
	for _, row := range rows {
		set := cfg.FlexSet(row.NodeSet)
		if !row.Waits() || set == nil {
			continue
		}
		lease := time.Duration(row.Lease)
		if lease == 0 {
			lease = leaseOf(set, time.Duration(job.Limit))
		}
		q := ask(set, job.Partition, row.Count, lease)
		q.Job = job.Name()
		if !row.Since.IsZero() {
			q.Waited = max(int64(now.Sub(row.Since).Seconds()), 0)
		}
		if seen, ok := v.NodeSet(row.NodeSet); ok {
			q.Machine = seen.Machine
		}
		questions = append(questions, q)
	}
	switch {
	case len(questions) > 0:
		return questions, nil
	case len(rows) > 0:
		return nil, fmt.Errorf("job %s has its machines; slurmflex why %s shows when their lease ends", job.Name(), job.Name())
	case job.Nodes == "":
		return nil, fmt.Errorf("job %s (%s) has no nodes yet, so its machines are not requested; slurmflex estimate -p %s -N NODES -t TIME "+
			"estimates how long they will take from then on", job.Name(), job.State, job.Partition)
	}
	return nil, fmt.Errorf("job %s has no flex-start nodes", job.Name())
}

package estimate

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"slurmflex/config"
	"slurmflex/flex/view"
	"slurmflex/mig"
	"slurmflex/slurm"
)

// whatIfTimes are the time limits of the table.
var whatIfTimes = []time.Duration{time.Hour, 6 * time.Hour, 24 * time.Hour, 7 * 24 * time.Hour}

// ask returns the question about a request for a nodeset, and about half as many nodes and twice as
// many with usual time limits.
func ask(set *config.NodeSet, partition string, nodes int, lease time.Duration) Question {
	q := Question{
		NodeSet: set.Name, Partition: partition, Request: Request{Count: nodes, Lease: int64(lease.Seconds())},
		After: int64(set.Flex.AskElsewhereAfter.Seconds()),
	}
	q.compare(set, []int{(nodes + 1) / 2, nodes, 2 * nodes}, whatIfTimes)
	return q
}

// compare sets the table of the question: ascending numbers of nodes and time limits, as far as the
// nodeset has them.
func (q *Question) compare(set *config.NodeSet, counts []int, limits []time.Duration) {
	q.Times, q.Leases, q.Counts = nil, nil, nil
	for _, count := range slices.Compact(counts) {
		if count <= set.Size() {
			q.Counts = append(q.Counts, count)
		}
	}
	if !set.Flex.UseJobDuration {
		q.Times, q.Leases = []int64{0}, []int64{int64(leaseOf(set, 0).Seconds())}
		return
	}
	for _, limit := range slices.Compact(limits) {
		if lease := leaseOf(set, limit); lease >= limit {
			q.Times, q.Leases = append(q.Times, int64(limit.Seconds())), append(q.Leases, int64(lease.Seconds()))
		}
	}
}

// leaseOf returns the lease that a job with that time limit needs; 0 without leases.
func leaseOf(set *config.NodeSet, limit time.Duration) time.Duration {
	longest := min(set.Flex.MaxRunDuration, mig.MaxDuration)
	if !set.Flex.UseJobDuration || limit == 0 {
		return longest
	}
	return min(max(limit+set.Flex.JobDurationMargin, mig.MinDuration), longest)
}

// ofPartition returns the questions about a job with the most nodes, one for each nodeset of the
// partition. A limit of 0 means no time limit.
func (q Query) ofPartition(cfg *config.Config, partition string, limit, least time.Duration) (questions []Question, err error) {
	sets, err := flexSetsOf(cfg, partition)
	if err != nil {
		return nil, err
	}
	most := 0
	for _, set := range sets {
		most = max(most, set.Size())
		nodes := Range{q.Nodes.Least, min(q.Nodes.Most, set.Size())}
		if nodes.Least < 1 || nodes.Least > nodes.Most {
			continue
		}
		question := ask(set, partition, nodes.Most, leaseOf(set, limit))
		if q.Best {
			question.compare(set, nodes.counts(), limits(set, limit, least))
		}
		questions = append(questions, question)
	}
	if len(questions) == 0 {
		return nil, fmt.Errorf("--nodes %s: partition %s has nodesets of up to %d nodes", q.Nodes.String(), partition, most)
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

// OfJob returns the questions about a waiting job: one for each nodeset where it waits or, with
// Best, where it may run.
func (q Query) OfJob(cfg *config.Config, v *view.View, name string, now time.Time) ([]Question, error) {
	if !q.Best {
		return ofJob(cfg, v, name, now)
	}
	waits, err := ofJob(cfg, v, name, now)
	job, _, found := v.Find(name)
	if found != nil || !slurm.JobState(job.State).Waits() && len(waits) == 0 {
		return nil, err
	}
	var all []Question
	q.Nodes = Range{max(job.NodeCount, 1), max(job.NodeCount, 1)}
	for partition := range strings.SplitSeq(job.Partition, ",") {
		more, err := q.ofPartition(cfg, partition, time.Duration(job.Limit), 0)
		if err != nil {
			continue // not flex-start, or too small
		}
		for i := range more {
			at := slices.IndexFunc(waits, func(w Question) bool { return w.NodeSet == more[i].NodeSet })
			if more[i].Job = job.Name(); at >= 0 {
				more[i].Together, more[i].Waited = waits[at].Together, waits[at].Waited
			}
		}
		all = append(all, more...)
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("job %s has no flex-start nodes", job.Name())
	}
	NameMachines(all, v)
	return all, nil
}

// NameMachines sets the machine types that a view shows. For other nodesets, the history has them.
func NameMachines(questions []Question, v *view.View) {
	for i := range questions {
		if set, ok := v.NodeSet(questions[i].NodeSet); ok {
			questions[i].Machine = set.Machine
		}
	}
}

// Waited returns how many machines arrive together for a waiting row, and how many seconds they have
// been requested for; 0 if they have not been requested.
func Waited(v *view.View, row view.Row, now time.Time) (together int, seconds int64) {
	together, since := v.Wanted(row)
	if since.IsZero() {
		return together, 0
	}
	return together, max(int64(now.Sub(since).Seconds()), 1)
}

// ofJob returns the questions about a waiting job, one for each nodeset.
func ofJob(cfg *config.Config, v *view.View, name string, now time.Time) (questions []Question, err error) {
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
		q.Together, q.Waited = Waited(v, row, now)
		questions = append(questions, q)
	}
	NameMachines(questions, v)
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

package estimate

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"slurmflex/config"
	"slurmflex/flex/history"
	"slurmflex/flex/view"
)

// OfPartitions estimates the wait of a job with that many nodes for each nodeset that is large enough, in
// each of the partitions, which commas separate.
func OfPartitions(cfg *config.Config, partitions string, nodes int, short bool, now time.Time) (Report, error) {
	var answers []Answer
	most := 0
	for partition := range strings.SplitSeq(partitions, ",") {
		sets, err := flexSetsOf(cfg, partition)
		if err != nil {
			return Report{}, config.Misuse(err)
		}
		for _, set := range sets {
			most = max(most, set.Size())
			if nodes >= 1 && nodes <= set.Size() {
				answers = append(answers, Answer{Partition: partition, NodeSet: set.Name, Nodes: nodes})
			}
		}
	}
	if len(answers) == 0 {
		return Report{}, config.Misusef("--nodes %d: partition %s has nodesets of up to %d nodes", nodes, partitions, most)
	}
	return reportOf(cfg, answers, short, now)
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

// OfJob estimates the remaining wait of a waiting job for each nodeset where it waits.
func OfJob(cfg *config.Config, v *view.View, name string, short bool, now time.Time) (Report, error) {
	job, rows, err := v.Find(name)
	if err != nil {
		return Report{}, err
	}
	var answers []Answer
	for _, row := range rows {
		if row.Waits() && cfg.FlexSet(row.NodeSet) != nil {
			together, seconds := waited(v, row, now)
			answers = append(answers, Answer{
				Job: job.Name(), Partition: job.Partition, NodeSet: row.NodeSet,
				Nodes: together, Waited: seconds, shared: together > row.Count,
			})
		}
	}
	switch {
	case len(answers) > 0:
		return reportOf(cfg, answers, short, now)
	case len(rows) > 0:
		return Report{}, fmt.Errorf("job %s has its machines; slurmflex why %s shows when their lease ends", job.Name(), job.Name())
	case len(job.Nodes) == 0:
		return Report{}, fmt.Errorf("job %s (%s) has no nodes yet, so its machines are not requested; slurmflex estimate -p %s -N NODES "+
			"estimates how long they will take from then on", job.Name(), job.State, job.Partition)
	}
	return Report{}, fmt.Errorf("job %s has no flex-start nodes", job.Name())
}

// waited returns how many machines arrive together for a waiting row, and how many seconds they have
// been requested for; 0 if they have not been requested.
func waited(v *view.View, row view.Row, now time.Time) (together int, seconds int64) {
	together, since := v.Wanted(row)
	if since.IsZero() {
		return together, 0
	}
	return together, max(int64(now.Sub(since).Seconds()), 1)
}

// reportOf adds estimates from the history to the answers. A cluster without history is an error,
// unless the report is short.
func reportOf(cfg *config.Config, answers []Answer, short bool, now time.Time) (Report, error) {
	book := newBook(now)
	tally, err := history.ReadForCommand(cfg.Options.StateDir, cfg.Cluster, history.Wait, book.take)
	if err != nil && !(short && errors.Is(err, history.ErrNone)) {
		return Report{}, err
	}
	for i := range answers {
		a := &answers[i]
		a.Estimate = book.estimate(a.NodeSet, a.Nodes, a.Waited)
	}
	return Report{Envelope: view.EnvelopeOf("estimate"), Cluster: cfg.Cluster, Estimates: answers, Bad: tally.Bad, short: short}, nil
}

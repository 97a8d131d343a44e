package estimate

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"slurmflex/config"
	"slurmflex/flex/history"
	"slurmflex/flex/view"
	"slurmflex/slurm"
)

// Query says what is estimated, in the words of the command's flags.
type Query struct {
	Partition string // or several, separated by commas, with Places or Best; empty: a job is asked about
	Nodes     Range
	Time      string // as sbatch takes it
	Short     bool

	Best    bool
	TimeMin string // as sbatch takes it

	Places       bool
	Correlations []float64
	After        *time.Duration // nil: the configuration says it
}

// Check returns an error for flags that cannot be obeyed.
func (q Query) Check() error {
	switch {
	case q.Places && q.Partition == "":
		return errors.New("--places needs -p PARTITION,PARTITION: it does not look at a job")
	case q.Best && q.Places:
		return errors.New("--best and --places are mutually exclusive")
	case !q.Best && q.Nodes.Least != q.Nodes.Most:
		return fmt.Errorf("--nodes %s needs --best, which compares numbers of nodes", q.Nodes.String())
	case q.TimeMin != "" && (!q.Best || q.Partition == ""):
		return errors.New("--time-min needs --best and --partition")
	case q.After != nil && *q.After < 0:
		return fmt.Errorf("--after must not be negative, as %s is", *q.After)
	}
	for _, c := range q.Correlations {
		if !(c >= 0 && c <= 1) {
			return fmt.Errorf("--correlation must be 0 to 1, not %g", c)
		}
	}
	return nil
}

// Questions returns a question for each nodeset of the query's partitions. Its errors are wrong usage.
func (q Query) Questions(cfg *config.Config) (questions []Question, err error) {
	limit, err := timeOf("--time", q.Time)
	if err != nil {
		return nil, err
	}
	least, err := timeOf("--time-min", q.TimeMin)
	if err != nil {
		return nil, err
	}
	if limit > 0 && least > limit {
		return nil, fmt.Errorf("--time-min %s must not be longer than --time %s", q.TimeMin, q.Time)
	}
	partitions := []string{q.Partition}
	if q.Places || q.Best {
		partitions = strings.Split(q.Partition, ",")
	}
	for _, partition := range partitions {
		more, err := q.ofPartition(cfg, partition, limit, least)
		if err != nil {
			return nil, err
		}
		questions = append(questions, more...)
	}
	if q.After != nil {
		for i := range questions {
			questions[i].After = int64(q.After.Seconds())
		}
	}
	if q.Places && len(questions) < 2 {
		return nil, fmt.Errorf("--places compares nodesets, and partition %s has one that fits; name more, as sbatch -p takes them", q.Partition)
	}
	return questions, nil
}

// timeOf parses a time limit; 0 if it is not set.
func timeOf(flag, text string) (time.Duration, error) {
	if text == "" {
		return 0, nil
	}
	limit, err := slurm.ParseTime(text)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", flag, err)
	}
	return limit, nil
}

// Answer answers the questions from the history. A cluster without history is an error, unless the
// output is short.
func (q Query) Answer(cfg *config.Config, questions []Question, now time.Time) (Report, error) {
	book, at := NewBook(history.At(now), time.Local), history.At(now)
	tally, err := history.ReadForCommand(cfg.Options.StateDir, cfg.Cluster, history.Wait, book.Take)
	if err != nil && !(errors.Is(err, history.ErrNone) && q.Short) {
		return Report{}, err
	}
	r := Report{Envelope: view.EnvelopeOf("estimate"), Cluster: cfg.Cluster, Bad: tally.Bad}
	var samples []*Samples
	var boots Boots
	for _, question := range questions {
		of := book.Of(question.NodeSet, question.Machine)
		r.Estimates = append(r.Estimates, of.Answer(question, at))
		samples, boots.NodeSets = append(samples, of), append(boots.NodeSets, question.NodeSet)
	}
	if q.Best {
		r.Best = append([]Shape{}, best(questions, r.Estimates)...)
	}
	if q.Places {
		_, err := history.ReadForCommand(cfg.Options.StateDir, cfg.Cluster, history.Lease, boots.Take)
		if err != nil && !errors.Is(err, history.ErrNone) {
			return Report{}, err
		}
		r.Places = PlacesOf(questions, samples, q.Correlations, cfg.Options.Interval, boots, at)
	}
	return r, nil
}

package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"slurmflex/config"
	"slurmflex/flex/estimate"
	"slurmflex/flex/history"
	"slurmflex/flex/view"
	"slurmflex/slurm"
)

// estimation is how the command estimate was called.
type estimation struct {
	partition string
	nodes     int
	time      string
	short     bool
	json      bool

	places       bool
	correlations []float64
	after        time.Duration
	afterSet     bool // otherwise the configuration says it
}

func newEstimate(a *app) *cobra.Command {
	e := estimation{}
	cmd := &cobra.Command{
		Use: "estimate [JOB]", Short: "Estimate how long a job waits for machines", GroupID: "ask",
		Long: `Estimate how long a job waits for machines, from how long requests like it have
waited on this cluster: the median and the 90th percentile. A table shows what
other time limits and numbers of nodes would change. For a job that waits already,
the estimate is for the time from now on.

The estimate is by Kaplan and Meier's method, so requests that were cancelled or
still wait count for as long as they have waited. If waits have become longer or
shorter, only requests since the change count. If waits depend on when in the week
they begin, only requests of the same hours count: weekdays 8:00 to 18:00, weekdays
18:00 to 8:00, or weekends, in local time. Where too few are left, the others count
as well. With fewer than 10 requests like it there is no estimate. In the table, a
longer time limit never starts sooner: numbers that chance puts in the wrong order
are averaged. Any user may run it, on a host that has the
history: see slurmflex.state_dir. It asks Google nothing, unless
slurmflex.capacity_advice is true: then Compute's advice.capacity is shown too.

With --places, a table shows what a second and a third place are worth to a job of
several partitions: the wait until the first place has machines, how many requests the
job makes and how long it holds them, and how long machines are lost that another place
gets before its request is cancelled. It is a simulation with waits from the history.
Places whose history is too short are named and left out.`,
		Example: `  slurmflex estimate --partition train --nodes 4 --time 4:00:00
  slurmflex estimate -p train -N 4 -t 2-00:00:00
  slurmflex estimate -p train -N 4 --short
  slurmflex estimate -p us,eu,asia -N 4 --places
  slurmflex estimate 812`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 1 || (len(args) == 1) == (e.partition != "") {
				return usageError{fmt.Errorf("usage: %s JOB, or %s -p PARTITION -N NODES -t TIME", cmd.CommandPath(), cmd.CommandPath())}
			}
			e.afterSet = cmd.Flags().Changed("after")
			return e.checkPlaces()
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			cfg, err := a.config()
			if err != nil {
				return err
			}
			now := time.Now()
			var questions []estimate.Question
			if len(args) == 1 {
				questions, err = a.aboutJob(cmd.Context(), cfg, args[0], now)
			} else {
				questions, err = e.questions(cmd.Context(), a, cfg)
			}
			if err != nil {
				return err
			}
			report, err := e.answers(cfg, questions, now)
			if err != nil {
				return err
			}
			if e.short {
				_, err := fmt.Fprint(cmd.OutOrStdout(), report.Short())
				return err
			}
			if cfg.Options.CapacityAdvice {
				a.advise(cmd.Context(), cfg, questions, report.Estimates)
			}
			return write(cmd.OutOrStdout(), e.json, estimated{view.EnvelopeOf("estimate"), report})
		},
	}
	cmd.Flags().StringVarP(&e.partition, "partition", "p", "", "the `partition` of the job")
	cmd.Flags().IntVarP(&e.nodes, "nodes", "N", 1, "its `number` of nodes")
	cmd.Flags().StringVarP(&e.time, "time", "t", "", "its time limit, as sbatch takes it; without one its lease is the longest")
	cmd.Flags().BoolVar(&e.short, "short", false, "print only the estimate, one line for each nodeset, and nothing without history")
	jsonFlag(cmd, &e.json)
	cmd.Flags().BoolVar(&e.places, "places", false, "simulate a job that asks in all nodesets of these partitions, in their order")
	cmd.Flags().Float64SliceVar(&e.correlations, "correlation", []float64{0, .5}, "with --places: how much waits in different places depend on each other, 0 to 1, as a `list`")
	cmd.Flags().DurationVar(&e.after, "after", 0, "with --places: how long after one place the next is asked (default: ask_elsewhere_after of the place before)")
	cmd.MarkFlagsMutuallyExclusive("short", "json")
	cmd.MarkFlagsMutuallyExclusive("short", "places")
	return cmd
}

// checkPlaces returns an error for flags of --places that cannot be obeyed.
func (e estimation) checkPlaces() error {
	switch {
	case e.places && e.partition == "":
		return usageError{errors.New("--places needs -p PARTITION,PARTITION: it does not look at a job")}
	case e.after < 0:
		return usageError{fmt.Errorf("--after must not be negative, as %s is", e.after)}
	}
	for _, c := range e.correlations {
		if !(c >= 0 && c <= 1) {
			return usageError{fmt.Errorf("--correlation must be 0 to 1, not %g", c)}
		}
	}
	return nil
}

// questions are those of the command line, one for each nodeset of the partition.
func (e estimation) questions(ctx context.Context, a *app, cfg *config.Config) (questions []estimate.Question, err error) {
	var limit time.Duration
	if e.time != "" {
		if limit, err = slurm.ParseTime(e.time); err != nil {
			return nil, usageError{fmt.Errorf("--time: %w", err)}
		}
	}
	partitions := []string{e.partition}
	if e.places {
		partitions = strings.Split(e.partition, ",")
	}
	for _, partition := range partitions {
		more, err := estimate.OfPartition(cfg, partition, e.nodes, limit)
		if err != nil {
			return nil, usageError{err}
		}
		questions = append(questions, more...)
	}
	if e.afterSet {
		for i := range questions {
			questions[i].After = int64(e.after.Seconds())
		}
	}
	if e.places && len(questions) < 2 {
		return nil, usageError{fmt.Errorf("--places compares nodesets, and partition %s has one that fits; name more, as sbatch -p takes them", e.partition)}
	}
	v, err := a.daemon().View(ctx, cfg.Glance())
	for i := range questions {
		if set, ok := v.NodeSet(questions[i].NodeSet); err == nil && ok {
			questions[i].Machine = set.Machine
		}
	}
	return questions, nil // without a daemon the history says what machines they are
}

// aboutJob are the questions about a job that waits.
func (a *app) aboutJob(ctx context.Context, cfg *config.Config, name string, now time.Time) ([]estimate.Question, error) {
	over := a.progress.Begin("reading Slurm and Compute")
	v, err := a.see(ctx)
	over()
	if err != nil {
		return nil, err
	}
	return estimate.OfJob(cfg, &v, name, now)
}

// answers answers the questions from the history. A cluster without any history is an error, but for
// output that has something to say without it.
func (e estimation) answers(cfg *config.Config, questions []estimate.Question, now time.Time) (estimate.Report, error) {
	book := estimate.NewBook(history.At(now), time.Local)
	tally, err := history.Read(cfg.Options.StateDir, cfg.Cluster, history.Wait, book.Take)
	if err != nil {
		return estimate.Report{}, whoMayRead(err)
	}
	if tally.Entries == 0 && !e.short && !cfg.Options.CapacityAdvice {
		return estimate.Report{}, noHistory(cfg, tally)
	}
	r := estimate.Report{Cluster: cfg.Cluster, Bad: tally.Bad}
	var samples []*estimate.Samples
	var boots estimate.Boots
	for _, q := range questions {
		of := book.Of(q.NodeSet, q.Machine)
		r.Estimates = append(r.Estimates, of.Answer(q, history.At(now)))
		samples, boots.NodeSets = append(samples, of), append(boots.NodeSets, q.NodeSet)
	}
	if e.places {
		if _, err := history.Read(cfg.Options.StateDir, cfg.Cluster, history.Lease, boots.Take); err != nil {
			return estimate.Report{}, whoMayRead(err)
		}
		r.Places = estimate.PlacesOf(questions, samples, e.correlations, cfg.Options.Interval, boots, history.At(now))
	}
	return r, nil
}

// noHistory returns the error of a command that needs the history where none has been recorded.
func noHistory(cfg *config.Config, tally history.Tally) error {
	unread := ""
	if tally.Bad > 0 {
		unread = ", and " + view.Count(tally.Bad, "line") + " that cannot be read"
	}
	return fmt.Errorf("no history in %s: it has nothing of cluster %s yet%s; run this command where the daemon runs, after a job has had "+
		"machines, or correct slurmflex.state_dir", cfg.Options.StateDir, cfg.Cluster, unread)
}

// whoMayRead adds to an error of the history what to do about it.
func whoMayRead(err error) error {
	return fmt.Errorf("%w; where Slurm hides jobs from other users (PrivateData), run it as SlurmUser", err)
}

// estimated is what the command prints.
type estimated struct {
	view.Envelope
	estimate.Report
}

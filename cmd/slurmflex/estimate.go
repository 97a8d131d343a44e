package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"slurmflex/config"
	"slurmflex/flex/estimate"
	"slurmflex/flex/usage"
	"slurmflex/flex/view"
)

func newEstimate(a *app) *cobra.Command {
	q, after, asJSON := estimate.Query{Nodes: estimate.Range{Least: 1, Most: 1}}, time.Duration(0), false
	cmd := &cobra.Command{
		Use: "estimate [JOB]", Short: "Estimate how long a job waits for machines", GroupID: "ask",
		Long: `Estimate how long a job waits for machines: the median and the 90th percentile of the
waits of similar requests on this cluster. A table shows how other time limits and
numbers of nodes change the estimate. For a job that already waits, the estimate is
the remaining wait.

The estimate uses the Kaplan-Meier method, so requests that were cancelled or still
wait count for the time that they have waited. If waits have become longer or shorter,
only requests since the change count. If waits depend on the hour of the week, only
requests of the same hours count: weekdays 8:00 to 18:00, weekdays 18:00 to 8:00, or
weekends, in local time. If too few such requests exist, all hours count. An estimate
needs at least 10 similar requests that got machines. In the table, a longer time limit
never starts sooner: numbers that chance puts in the wrong order are averaged. Any user
may run it, on a host that has the history: see slurmflex.state_dir. It asks Google
nothing.

With --best, a table ranks the ways in which the job could be submitted: in each of
its partitions, with fewer nodes if --nodes is a range, and with shorter time limits.
A way is left out if another brings at least as many nodes for at least as long, and no
later. For a waiting job, a row has its own request, from now on; the others are new
requests. With --short, one line has the wait of the job as it is, and the soonest way
if that is certainly shorter by a third or more.

With --places, a table shows what a second and a third place are worth to a job of
several partitions: the wait until the first place has machines, how many requests the
job makes and how long it holds them, and how long machines are lost that another place
gets before its request is cancelled. It is a simulation with waits from the history.
Places whose history is too short are named and left out.`,
		Example: `  slurmflex estimate --partition train --nodes 4 --time 4:00:00
  slurmflex estimate -p train -N 4 -t 2-00:00:00
  slurmflex estimate -p train -N 4 --short
  slurmflex estimate -p us,eu -N 2-4 -t 8:00:00 --time-min 2:00:00 --best
  slurmflex estimate -p us,eu,asia -N 4 --places
  slurmflex estimate 812`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 1 || (len(args) == 1) == (q.Partition != "") {
				return usage.Errorf("usage: %s JOB, or %[1]s -p PARTITION -N NODES -t TIME", cmd.CommandPath())
			}
			if cmd.Flags().Changed("after") {
				q.After = &after
			}
			return usage.Wrap(q.Check())
		},
		RunE: a.configured(func(cmd *cobra.Command, args []string, cfg *config.Config) error {
			now := time.Now()
			questions, err := a.questions(cmd.Context(), cfg, q, args, now)
			if err != nil {
				return err
			}
			report, err := q.Answer(cfg, questions, now)
			if err != nil {
				return err
			}
			if q.Short {
				_, err := fmt.Fprint(cmd.OutOrStdout(), report.Short())
				return err
			}
			return view.Write(cmd.OutOrStdout(), asJSON, report)
		}),
	}
	cmd.Flags().StringVarP(&q.Partition, "partition", "p", "", "`partition` of the job")
	cmd.Flags().VarP(&q.Nodes, "nodes", "N", "`number` of nodes; with --best also a range such as 2-4")
	cmd.Flags().StringVarP(&q.Time, "time", "t", "", "time limit in sbatch format (default: the longest lease)")
	cmd.Flags().BoolVar(&q.Short, "short", false, "print only the estimate, one line for each nodeset, and nothing without history")
	jsonFlag(cmd, &asJSON)
	cmd.Flags().BoolVar(&q.Places, "places", false, "simulate a job that requests machines in all nodesets of these partitions, in this order")
	cmd.Flags().Float64SliceVar(&q.Correlations, "correlation", []float64{0, .5}, "with --places: `list` of correlations between the waits in different places, 0 to 1")
	cmd.Flags().DurationVar(&after, "after", 0, "with --places: time between the requests in one place and the next (default: ask_elsewhere_after of the earlier place)")
	cmd.Flags().BoolVar(&q.Best, "best", false, "rank the job's own alternatives: its partitions, fewer nodes if it allows them, and shorter time limits")
	cmd.Flags().StringVar(&q.TimeMin, "time-min", "", "with --best: shortest time limit, in sbatch format (default: 1 hour)")
	exclude(cmd, "short", "json")
	exclude(cmd, "short", "places")
	return cmd
}

// questions returns the questions about a waiting job, or about the query.
func (a *app) questions(ctx context.Context, cfg *config.Config, q estimate.Query, jobs []string, now time.Time) ([]estimate.Question, error) {
	if len(jobs) == 1 {
		v, err := a.look(ctx)
		if err != nil {
			return nil, err
		}
		return q.OfJob(cfg, &v, jobs[0], now)
	}
	questions, err := q.Questions(cfg)
	if err != nil {
		return nil, usage.Wrap(err)
	}
	if v, err := a.daemon().View(ctx, cfg.Glance()); err == nil { // otherwise, the history shows the machine types
		estimate.NameMachines(questions, &v)
	}
	return questions, nil
}

package main

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"slurmflex/config"
	"slurmflex/flex/estimate"
)

func newEstimate(a *app) *cobra.Command {
	partitions, nodes, short := "", 1, false
	cmd := &cobra.Command{
		Use: "estimate [JOB]", Short: "Estimate how long a job waits for machines", GroupID: "ask",
		Long: `Estimate how long a job waits for machines: the median and the 90th percentile of the
waits of the latest requests like its own on this cluster. For a job that already waits,
the estimate is the remaining wait.

Requests are like its own if they are for the same nodeset and a similar number of nodes
(1, 2, 3 to 4, 5 to 8, and so on) or, if too few of those are known, any number. Those
of the last 14 days count or, if that is more, the last 30. An estimate needs at least
10 that got machines, after they had waited as long as the job. By the Kaplan-Meier
method, requests that were cancelled or still wait count for the time that they have
waited. Any user may run it, on a host that has the history: see slurmflex.state_dir.
It asks Google nothing.`,
		Example: `  slurmflex estimate --partition train --nodes 4
  slurmflex estimate -p train -N 4 --short
  slurmflex estimate 812`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 1 || (len(args) == 1) == (partitions != "") {
				return config.Misusef("usage: %s JOB, or %[1]s -p PARTITION -N NODES", cmd.CommandPath())
			}
			return nil
		},
		RunE: a.configured(func(cmd *cobra.Command, args []string, cfg *config.Config) error {
			report, err := a.estimate(cmd.Context(), cfg, args, partitions, nodes, short)
			if err != nil {
				return err
			}
			return show(cmd, report)
		}),
	}
	cmd.Flags().StringVarP(&partitions, "partition", "p", "", "`partition` of the job, or several, separated by commas")
	cmd.Flags().IntVarP(&nodes, "nodes", "N", 1, "`number` of nodes")
	cmd.Flags().BoolVar(&short, "short", false, "print only estimates: nothing where too few requests are known")
	jsonFlag(cmd)
	exclude(cmd, "short", "json")
	return cmd
}

// estimate estimates the wait of a job in the queue, or else of one with that many nodes.
func (a *app) estimate(ctx context.Context, cfg *config.Config, job []string, partitions string, nodes int, short bool) (estimate.Report, error) {
	if len(job) == 0 {
		return estimate.OfPartitions(cfg, partitions, nodes, short, time.Now())
	}
	v, err := a.see(ctx)
	if err != nil {
		return estimate.Report{}, err
	}
	return estimate.OfJob(cfg, &v, job[0], short, time.Now())
}

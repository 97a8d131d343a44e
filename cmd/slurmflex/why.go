package main

import (
	"io"
	"time"

	"github.com/spf13/cobra"
)

func newWhy(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "why JOB|NODE|GROUP", Short: "Tell what a job waits for, what comes next, and what could be done", GroupID: "ask",
		Args: exactly(1, "it takes one job, node or group, such as 812, 812_3, 812+1, alpha-a3-0 or alpha-a3-job-812"),
		Long: `Tell the story of a job, a node or a managed instance group: what was asked for,
what came of it, what happens next and when, and what its owner could do. A job is
asked for by the number that squeue shows: 812, 812_3 for a task of an array, 812+1
for a component of a heterogeneous job.

Any user may ask: the daemon answers, at slurmflex.http_address of the
configuration. Where no daemon answers, slurmflex reads Slurm and Compute itself,
which needs credentials.`,
		Example: `  slurmflex why 812
  slurmflex why 812_3
  slurmflex why alpha-a3-0`,
		RunE: func(cmd *cobra.Command, args []string) error {
			over := a.foot.begin("looking at Slurm and Compute")
			v, err := a.see(cmd.Context())
			over()
			if err != nil {
				return err
			}
			story, err := v.Why(args[0], time.Now())
			if err != nil {
				return err
			}
			_, err = io.WriteString(cmd.OutOrStdout(), story.String())
			return err
		},
	}
}

package main

import (
	"io"
	"time"

	"github.com/spf13/cobra"

	"slurmflex/flex/view"
)

func newWhy(a *app) *cobra.Command {
	verbose, nodes, asJSON := false, false, false
	cmd := &cobra.Command{
		Use: "why JOB|NODE|GROUP", Short: "Explain why a job is waiting and what to do about it", GroupID: "ask",
		Args: exactly(1, "812, 812_3, 812+1, alpha-a3-0 or alpha-a3-job-812"),
		Long: `Explain the state of a job, a node or a managed instance group: in the first line its
state, the cause and what happens next, then a few facts and what its owner can do.
Give a job by the number that squeue shows: 812, 812_3 for a task of an array, 812+1
for a component of a heterogeneous job. --verbose adds earlier attempts, Google's
error messages in full and recent actions, --nodes where Google says that each
machine is.

Any user can run it: the daemon answers, at slurmflex.http_address. If no daemon
answers, the command reads Slurm and Compute itself, which needs credentials.`,
		Example: `  slurmflex why 812
  slurmflex why --verbose 812
  slurmflex why 812_3
  slurmflex why alpha-a3-0`,
		ValidArgsFunction: a.complete(view.View.Subjects),
		RunE: func(cmd *cobra.Command, args []string) error {
			over := a.progress.begin("reading Slurm and Compute")
			v, err := a.see(cmd.Context())
			over()
			if err != nil {
				return err
			}
			story, err := v.Why(args[0], time.Now())
			if err != nil {
				return err
			}
			if asJSON {
				return writeJSON(cmd.OutOrStdout(), story)
			}
			text := story.Text(verbose)
			if nodes {
				text += story.HostTable()
			}
			if !verbose && len(story.Details) > 0 {
				text += "For more: " + cmd.CommandPath() + " --verbose " + args[0] + "\n"
			}
			_, err = io.WriteString(cmd.OutOrStdout(), text)
			return err
		},
	}
	jsonFlag(cmd, &asJSON)
	cmd.Flags().BoolVar(&nodes, "nodes", false, "also show the block, subblock and host of each machine")
	cmd.Flags().BoolVarP(&verbose, "verbose", "v", false, "also show earlier attempts, whole error messages and recent actions")
	return cmd
}

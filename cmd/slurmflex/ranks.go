package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"slurmflex/flex/usage"
	"slurmflex/flex/view"
	"slurmflex/slurm"
)

func newRanks(a *app) *cobra.Command {
	tasks := 1
	cmd := &cobra.Command{
		Use: "ranks JOB", Short: "Print a running job's nodes by block and host, for SLURM_HOSTFILE", GroupID: "ask",
		Args: exactly(1, "812, 812_3 or 812+1"),
		Long: `Print a job's nodes, one per line, grouped by block and subblock. Save the output to
the file that SLURM_HOSTFILE names: srun --distribution=arbitrary then starts one task
per line, on that line's node. For several tasks per node, add --tasks-per-node.

Nodes with an unknown location are printed last, and named on stderr. Any user can
run it; see slurmflex why --help.`,
		Example: `  slurmflex ranks 812
  slurmflex ranks --tasks-per-node 8 812 >ranks`,
		ValidArgsFunction: a.complete(view.View.Subjects),
		RunE: func(cmd *cobra.Command, args []string) error {
			if tasks < 1 {
				return usage.Errorf("--tasks-per-node must be 1 or more")
			}
			v, err := a.look(cmd.Context())
			if err != nil {
				return err
			}
			lines, unknown, err := v.Ranks(args[0], tasks)
			if err != nil {
				return err
			}
			if len(unknown) > 0 {
				_, _ = fmt.Fprintf(cmd.ErrOrStderr(), "Compute does not show where %s is; last in the order\n", slurm.Fold(unknown))
			}
			_, err = io.WriteString(cmd.OutOrStdout(), lines)
			return err
		},
	}
	cmd.Flags().IntVar(&tasks, "tasks-per-node", 1, "print each node this many times, on consecutive lines")
	return cmd
}

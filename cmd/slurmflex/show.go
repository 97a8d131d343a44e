package main

import (
	"context"
	"io"

	"github.com/spf13/cobra"

	"slurmflex/flex"
	"slurmflex/flex/view"
)

func newPlan(a *app) *cobra.Command {
	asJSON := false
	cmd := &cobra.Command{
		Use: "plan", Short: "Print what a reconcile pass would do and why, without doing it", GroupID: "ask", Args: noArguments,
		Long: `Read Slurm and Compute as a reconcile pass does, and print what it would do and
why. Changes nothing. It needs credentials for Compute.`,
		Example: "  slurmflex plan",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.withReconciler(cmd.Context(), func(ctx context.Context, r *flex.Reconciler) error {
				return a.printPlan(ctx, cmd.OutOrStdout(), asJSON, r)
			})
		},
	}
	jsonFlag(cmd, &asJSON)
	return cmd
}

func (a *app) printPlan(ctx context.Context, w io.Writer, asJSON bool, r *flex.Reconciler, only ...flex.Filter) error {
	over := a.progress.Begin("reading Slurm and Compute")
	p, err := r.Plan(ctx, only...)
	over()
	if err != nil {
		return err
	}
	return write(w, asJSON, view.PlanOf(r.Config.Cluster, p))
}

package main

import (
	"github.com/spf13/cobra"

	"slurmflex/flex"
	"slurmflex/flex/view"
)

func newPlan(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use: "plan", Short: "Print what a reconcile pass would do and why, without doing it", GroupID: "ask", Args: noArguments,
		Long: `Read Slurm and Compute as a reconcile pass does, and print what it would do and
why. Changes nothing. It needs credentials for Compute.`,
		Example: "  slurmflex plan",
		RunE:    a.reconciling(func(cmd *cobra.Command, r *flex.Reconciler) error { return a.printPlan(cmd, r) }),
	}
	jsonFlag(cmd)
	return cmd
}

func (a *app) printPlan(cmd *cobra.Command, r *flex.Reconciler, only ...flex.Filter) error {
	_, p, err := r.Look(cmd.Context(), only...)
	if err != nil {
		return err
	}
	return show(cmd, view.PlanOf(r.Config.Cluster, p.Actions, p.Problems.Texts()))
}

package main

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"slurmflex/flex"
)

func newPlan(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "plan", Short: "Print what a reconcile pass would do and why, without doing it", GroupID: "ask", Args: noArguments,
		Long: `Read Slurm and Compute as a reconcile pass does, and print what it would do and
why. Changes nothing. It needs credentials for Compute.`,
		Example: "  slurmflex plan",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.withReconciler(cmd.Context(), func(ctx context.Context, r *flex.Reconciler) error {
				return a.printPlan(ctx, cmd.OutOrStdout(), r)
			})
		},
	}
}

func (a *app) printPlan(ctx context.Context, w io.Writer, r *flex.Reconciler, only ...flex.Filter) error {
	over := a.progress.begin("reading Slurm and Compute")
	p, err := r.Plan(ctx, only...)
	over()
	if err != nil {
		return err
	}
	var text strings.Builder
	for _, action := range p.Actions {
		fmt.Fprintf(&text, "%s\n    because %s\n", action, action.Because())
	}
	if len(p.Actions) == 0 {
		fmt.Fprintln(&text, "nothing to do")
	}
	for _, problem := range p.Problems {
		fmt.Fprintln(&text, "problem:", problem.Text)
	}
	_, err = io.WriteString(w, text.String())
	return err
}

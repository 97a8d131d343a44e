package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"slurmflex/flex"
	"slurmflex/flex/view"
)

func newDown(a *app) *cobra.Command {
	d := &down{}
	cmd := &cobra.Command{
		Use: "down", Short: "Take the cluster or a nodeset down: jobs, requests, machines and groups", GroupID: "run", Args: noArguments,
		Long: `Close the partitions of the flex nodes, requeue their jobs, power the nodes down,
cancel the requests, and delete the machines, groups, workload policies and
reservations of this cluster. Where a partition also has other nodes, its flex
nodes are drained instead. Jobs that Slurm would not requeue keep their nodes,
and their owners are notified, unless --drain or --now is given.

It needs no stop of the daemon or cron, and run again it continues where it was
interrupted. At the end it prints what is left and why, and the commands that
open the partitions again. Exit status: 0 if nothing is left, otherwise 1.

It must run as SlurmUser. If slurmctld does not answer, because the cluster is
being deleted, it needs --now and leaves Slurm out.`,
		Example: `  slurmflex down --dry-run
  slurmflex down --nodeset a3 --drain
  slurmflex down --now --yes`,
		RunE: a.reconciling(func(cmd *cobra.Command, r *flex.Reconciler) error {
			d.in, d.show = cmd.InOrStdin(), func(document fmt.Stringer) error { return show(cmd, document) }
			slurm := a.scheduler(r.Config)
			d.R, d.Lock, d.ClosePartition, d.reach = r, a.lock(r.Config), slurm.ClosePartition, slurm.Reach
			return d.run(cmd.Context())
		}),
	}
	cmd.Flags().StringVar(&d.Options.NodeSet, "nodeset", "", "take down only this `nodeset`")
	cmd.Flags().BoolVar(&d.drain, "drain", false, "let running jobs end first, and wait for them")
	cmd.Flags().BoolVar(&d.now, "now", false, "cancel jobs that Slurm would not requeue")
	cmd.Flags().BoolVar(&d.dryRun, "dry-run", false, "only print the steps")
	cmd.Flags().BoolVar(&d.yes, "yes", false, "do not ask for the cluster's name")
	exclude(cmd, "drain", "now")
	exclude(cmd, "dry-run", "yes")
	jsonFlag(cmd)
	completeFlags(cmd, map[string]cobra.CompletionFunc{"nodeset": a.complete(view.View.NodeSetNames)})
	return cmd
}

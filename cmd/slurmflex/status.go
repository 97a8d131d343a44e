package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/user"

	"github.com/spf13/cobra"

	"slurmflex/flex/terminal"
	"slurmflex/flex/usage"
	"slurmflex/flex/view"
)

// status holds the flags of the status command.
type status struct {
	json, watch, me bool
	filter          view.Filter
	order, output   string
}

func newStatus(a *app) *cobra.Command {
	s := status{}
	cmd := &cobra.Command{
		Use: "status", Short: "Show waiting nodes, machines and their leases, and problems", GroupID: "ask", Args: noArguments,
		Long: `Show the nodes that wait and for how long, the machines and when their leases end,
jobs to which Slurm has allocated no nodes yet, held jobs, and problems.

Any user can run it: the daemon answers, at slurmflex.http_address. If no daemon
answers, the command reads Slurm and Compute itself, which needs credentials.`,
		Example: `  slurmflex status
  slurmflex status --me
  slurmflex status --watch --nodeset a3 --sort wait
  slurmflex status --json`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := s.check(); err != nil {
				return usage.Wrap(err)
			}
			see := func(ctx context.Context) (view.View, error) {
				v, err := a.see(ctx)
				if err != nil {
					return v, err
				}
				return v.Select(s.filter)
			}
			if s.watch {
				err := terminal.Watch(cmd.Context(), cmd.InOrStdin(), cmd.OutOrStdout(), see, s.layout())
				if errors.Is(err, terminal.ErrNone) {
					return usage.Wrap(err)
				}
				return err
			}
			over := a.progress.Begin("reading Slurm and Compute")
			v, err := see(cmd.Context())
			over()
			if err != nil {
				return err
			}
			if s.json {
				return view.WriteJSON(cmd.OutOrStdout(), v.Sorted(s.layout().Order))
			}
			_, err = io.WriteString(cmd.OutOrStdout(), terminal.Table(cmd.OutOrStdout(), v, s.layout()))
			return err
		},
	}
	jsonFlag(cmd, &s.json)
	cmd.Flags().BoolVar(&s.watch, "watch", false, "refresh every two seconds until q is pressed")
	cmd.Flags().BoolVar(&s.me, "me", false, "show only your own jobs")
	cmd.Flags().StringVar(&s.filter.User, "user", "", "show only jobs of the user with this `name`")
	cmd.Flags().StringVar(&s.filter.Partition, "partition", "", "show only the partition with this `name`")
	cmd.Flags().StringVar(&s.filter.NodeSet, "nodeset", "", "show only the nodeset with this `name`")
	cmd.Flags().StringVar(&s.order, "sort", "nodeset", "sort by this `key`: "+view.Orders)
	cmd.Flags().StringVarP(&s.output, "output", "o", "", "`wide` shows more columns")
	exclude(cmd, "json", "watch")
	exclude(cmd, "json", "output")
	exclude(cmd, "me", "user")
	completeFlags(cmd, map[string]cobra.CompletionFunc{
		"user":      a.complete(func(v view.View, _ string) []string { return v.Users() }),
		"partition": a.complete(func(v view.View, _ string) []string { return v.Partitions() }),
		"nodeset":   a.complete(nodeSets),
		"sort":      choices(view.Orders), "output": choices("wide"),
	})
	return cmd
}

// check returns an error for unknown values of flags, and replaces --me by the user's name.
func (s *status) check() error {
	switch {
	case s.output != "" && s.output != "wide":
		return fmt.Errorf("unknown --output %q; choose one of: wide", s.output)
	case !view.Order(s.order).Known():
		return fmt.Errorf("unknown --sort %q; choose one of: %s", s.order, view.Orders)
	case !s.me:
		return nil
	}
	me, err := user.Current()
	if err != nil {
		return fmt.Errorf("find out your name: %w; set it with --user", err)
	}
	s.filter.User = me.Username
	return nil
}

// layout returns the layout of the table, except for the terminal's width.
func (s *status) layout() view.Layout {
	return view.Layout{Wide: s.output == "wide", Order: view.Order(s.order), Filtered: s.filter != view.Filter{}}
}

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/user"

	"github.com/spf13/cobra"

	"slurmflex/flex/terminal"
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
				return usageError{err}
			}
			see := func(ctx context.Context) (view.View, error) { return s.see(ctx, a) }
			if s.watch {
				err := terminal.Watch(cmd.Context(), cmd.InOrStdin(), cmd.OutOrStdout(), see, s.look())
				if errors.Is(err, terminal.ErrNone) {
					return usageError{err}
				}
				return err
			}
			over := a.progress.Begin("reading Slurm and Compute")
			v, err := see(cmd.Context())
			over()
			if err != nil {
				return err
			}
			return s.write(cmd.OutOrStdout(), v)
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
	completeFlags(cmd, map[string]cobra.CompletionFunc{
		"user":      a.complete(func(v view.View, _ string) []string { return v.Users() }),
		"partition": a.complete(func(v view.View, _ string) []string { return v.Partitions() }),
		"nodeset":   a.complete(nodeSets),
		"sort":      choices(view.Orders), "output": choices("wide"),
	})
	return cmd
}

// check returns an error for contradictory flags, and replaces --me by the user's name.
func (s *status) check() error {
	switch {
	case s.json && s.watch:
		return errors.New("--json and --watch are mutually exclusive")
	case s.json && s.output != "":
		return errors.New("--json and --output are mutually exclusive")
	case s.me && s.filter.User != "":
		return errors.New("--me and --user are mutually exclusive")
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

func (s *status) see(ctx context.Context, a *app) (view.View, error) {
	v, err := a.see(ctx)
	if err != nil {
		return v, err
	}
	if err := s.filter.Check(v); err != nil {
		return v, usageError{err}
	}
	if s.filter.User != "" && v.HidesUsers() {
		return v, errors.New("--me and --user do not work here, because Slurm hides the users of jobs (PrivateData)")
	}
	return v.Only(s.filter), nil
}

// look returns the table's layout, except for the terminal's width.
func (s *status) look() view.Look {
	return view.Look{Wide: s.output == "wide", Order: view.Order(s.order), Filtered: s.filter != view.Filter{}}
}

func (s *status) write(w io.Writer, v view.View) error {
	look := s.look()
	if s.json {
		v.Rows = look.Order.Sort(v.Rows)
		return writeJSON(w, v)
	}
	_, err := io.WriteString(w, terminal.Table(w, v, look))
	return err
}

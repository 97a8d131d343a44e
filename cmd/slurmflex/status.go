package main

import (
	"fmt"
	"io"
	"os"
	"os/user"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"slurmflex/config"
	"slurmflex/flex/terminal"
	"slurmflex/flex/view"
)

// status holds the flags of the status command.
type status struct {
	me     bool
	filter view.Filter
	output string
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
  slurmflex status --nodeset a3
  slurmflex status --json`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := s.check(); err != nil {
				return config.Misuse(err)
			}
			v, err := a.see(cmd.Context())
			if err != nil {
				return err
			}
			if v, err = v.Select(s.filter); err != nil {
				return err
			}
			return output(cmd, v, v.Table(s.layout(cmd.OutOrStdout())))
		},
	}
	jsonFlag(cmd)
	cmd.Flags().BoolVar(&s.me, "me", false, "show only your own jobs")
	cmd.Flags().StringVar(&s.filter.User, "user", "", "show only jobs of the user with this `name`")
	cmd.Flags().StringVar(&s.filter.Partition, "partition", "", "show only the partition with this `name`")
	cmd.Flags().StringVar(&s.filter.NodeSet, "nodeset", "", "show only the nodeset with this `name`")
	cmd.Flags().StringVarP(&s.output, "output", "o", "", "`wide` shows more columns")
	exclude(cmd, "json", "output")
	exclude(cmd, "me", "user")
	completeFlags(cmd, map[string]cobra.CompletionFunc{
		"partition": a.complete(view.View.Partitions),
		"nodeset":   a.complete(view.View.NodeSetNames),
		"output":    choices("wide"),
	})
	return cmd
}

// check returns an error for unknown values of flags, and replaces --me by the user's name.
func (s *status) check() error {
	switch {
	case s.output != "" && s.output != "wide":
		return fmt.Errorf("unknown --output %q; choose one of: wide", s.output)
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

// layout returns the layout of the table for the terminal or file that w writes to.
func (s *status) layout(w io.Writer) view.Layout {
	isTerminal := terminal.Is(w)
	l := view.Layout{
		Now: time.Now(), Color: isTerminal && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb",
		Wide: s.output == "wide", Filtered: s.filter != view.Filter{},
	}
	if isTerminal {
		if size, err := unix.IoctlGetWinsize(int(w.(*os.File).Fd()), unix.TIOCGWINSZ); err == nil && size.Row > 0 {
			l.Width = int(size.Col)
		}
	}
	return l
}

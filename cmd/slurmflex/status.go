package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"slurmflex/flex/view"
)

// status is how the command of that name was called.
type status struct {
	json    bool
	watch   bool
	nodeset string
}

func newStatus(a *app) *cobra.Command {
	s := status{}
	cmd := &cobra.Command{
		Use: "status", Short: "Show waiting nodes, machines and their leases, and problems", GroupID: "ask", Args: noArguments,
		Long: `Show the nodes that wait and for how long, the machines and when their leases end,
held jobs, and problems.

Any user can run it: the daemon answers, at slurmflex.http_address. If no daemon
answers, the command reads Slurm and Compute itself, which needs credentials.`,
		Example: `  slurmflex status
  slurmflex status --watch --nodeset a3
  slurmflex status --json`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if s.json && s.watch {
				return usageError{errors.New("--json and --watch exclude each other; give one of them")}
			}
			see := func(ctx context.Context) (view.View, error) { return s.see(ctx, a) }
			if s.watch {
				return watch(cmd.Context(), cmd.InOrStdin(), cmd.OutOrStdout(), see)
			}
			over := a.progress.begin("reading Slurm and Compute")
			v, err := see(cmd.Context())
			over()
			if err != nil {
				return err
			}
			return s.write(cmd.OutOrStdout(), v)
		},
	}
	cmd.Flags().BoolVar(&s.json, "json", false, "print JSON, as described in docs/status.md")
	cmd.Flags().BoolVar(&s.watch, "watch", false, "refresh every two seconds until q is pressed")
	cmd.Flags().StringVar(&s.nodeset, "nodeset", "", "show only the nodeset with this `name`")
	return cmd
}

func (s status) see(ctx context.Context, a *app) (view.View, error) {
	v, err := a.see(ctx)
	if err != nil || s.nodeset == "" {
		return v, err
	}
	var names []string
	for _, set := range v.NodeSets {
		names = append(names, set.Name)
	}
	if !slices.Contains(names, s.nodeset) {
		return v, unknownNodeSet(s.nodeset, names)
	}
	return v.Only(s.nodeset), nil
}

func (s status) write(w io.Writer, v view.View) error {
	if s.json {
		e := json.NewEncoder(w)
		e.SetIndent("", "  ")
		return e.Encode(v)
	}
	look := view.Look{Now: time.Now(), Color: colors(w)}
	if screen, isFile := w.(*os.File); isFile {
		_, look.Width, _ = sizeOf(screen)
	}
	_, err := io.WriteString(w, v.Table(look))
	return err
}

// colors reports whether the reader of what is written wants it in colors.
func colors(w io.Writer) bool {
	return isTerminal(w) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
}

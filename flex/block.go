package flex

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"slurmflex/config"
	"slurmflex/flex/plan/memo"
	"slurmflex/slurm"
)

// Block makes passes request no machines for a nodeset, until unblock or the end in the record. It
// writes the record into all nodes of the nodeset with an Extra that is empty or ours, so that a node
// that cannot be read lifts no block. It returns these nodes, and fails if there are none.
func Block(ctx context.Context, s Scheduler, cfg *config.Config, nodeset string, record memo.Block) ([]string, error) {
	nodes, unread, err := nodesOf(ctx, s, cfg, nodeset)
	if err != nil {
		return nil, err
	}
	names, err := mark(ctx, s, nodes, record.String(), func(extra string) bool { return extra == "" || isRecord(extra) })
	switch {
	case len(names) > 0:
		return names, err
	case len(nodes) > 0:
		return nil, fmt.Errorf("the Extra of every node has another program's text; clear one (scontrol update nodename=%s extra=)", nodes[0].Name)
	case len(unread) > 0:
		return nil, unread
	}
	return nil, errors.New("no node of it in Slurm; write flex.conf again (slurmflex config slurm-conf)")
}

// Unblock lets the next pass request machines of a nodeset again. It returns the nodes with a cleared
// record of a block or of failed boots. It fails if it cannot read a node that may belong to the
// nodeset.
func Unblock(ctx context.Context, s Scheduler, cfg *config.Config, nodeset string) ([]string, error) {
	nodes, unread, err := nodesOf(ctx, s, cfg, nodeset)
	if err != nil {
		return nil, err
	}
	names, err := mark(ctx, s, nodes, "", isRecord)
	if err == nil && len(unread) > 0 {
		err = unread
	}
	return names, err
}

// mark writes a text into the nodes whose Extra it may replace, and returns these nodes.
func mark(ctx context.Context, s Scheduler, nodes []slurm.Node, text string, replaces func(extra string) bool) (names []string, err error) {
	for _, n := range nodes {
		if replaces(n.Extra) {
			names = append(names, n.Name)
		}
	}
	if len(names) > 0 {
		err = s.UpdateNodes(ctx, names, slurm.NodeChange{Extra: &text})
	}
	return names, err
}

// isRecord reports whether slurmflex wrote a node's Extra.
func isRecord(extra string) bool {
	_, blocks := memo.ParseBlock(extra)
	return blocks || memo.IsBoots(extra)
}

// nodesOf reads the nodes of a nodeset, and the unreadable rows that may be nodes of it.
func nodesOf(ctx context.Context, s Scheduler, cfg *config.Config, nodeset string) (of []slurm.Node, unread slurm.Unread, err error) {
	isOther := func(name string) bool {
		set, _, ok := cfg.Find(name)
		return !ok || set.Name != nodeset
	}
	of, err = s.Nodes(ctx)
	if err = unread.Take(err); err != nil {
		return nil, nil, err
	}
	of = slices.DeleteFunc(of, func(n slurm.Node) bool { return isOther(n.Name) })
	slices.SortFunc(of, func(a, b slurm.Node) int { return strings.Compare(a.Name, b.Name) })
	return of, slices.DeleteFunc(unread, func(row slurm.UnreadRow) bool { return row.Name != "" && isOther(row.Name) }), nil
}

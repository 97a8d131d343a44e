package flex

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"slurmflex/config"
	"slurmflex/flex/plan"
	"slurmflex/mig"
	"slurmflex/slurm"
)

// WriteStatus writes what a snapshot shows as a table: the groups with their
// requests, instances and jobs, then the nodes of each nodeset by their state
// in Slurm, then what could not be read.
func WriteStatus(out io.Writer, cfg *config.Config, snap plan.Snapshot) error {
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "GROUP\tNODES\tSTATE\tJOBS\tLEASE\tDETAIL")
	jobs := jobsByNode(snap.Jobs)
	for _, g := range slices.SortedFunc(slices.Values(snap.Groups), byName) {
		for _, row := range groupRows(g, snap, jobs) {
			fmt.Fprintln(t, strings.Join(row, "\t"))
		}
	}
	if err := t.Flush(); err != nil {
		return err
	}
	for _, ns := range cfg.NodeSets {
		if ns.Flex != nil {
			fmt.Fprintf(out, "\nnodeset %s, %d nodes: %s", ns.Name, ns.Size(), nodeStates(cfg, ns, snap.Nodes))
		}
	}
	for _, region := range slices.Sorted(maps.Keys(snap.Unseen)) {
		fmt.Fprintf(out, "\nregion %s could not be read: %v", region, snap.Unseen[region])
	}
	_, err := fmt.Fprintln(out)
	return err
}

func byName(a, b mig.Group) int {
	return cmp.Or(cmp.Compare(a.Region, b.Region), cmp.Compare(a.Name, b.Name))
}

// groupRows describes one group: a row for each live request, one for each
// state that its instances are in, or one that says it is empty.
func groupRows(g mig.Group, snap plan.Snapshot, jobs map[string][]uint32) [][]string {
	var rows [][]string
	for _, r := range g.Live() {
		detail := "for " + age(snap.Now, r.Created)
		if r.Message != "" {
			detail += "; last attempt: " + r.Message
		}
		rows = append(rows, row(g.Name+"/"+r.Name, r.Instances, strings.ToLower(string(r.State)), jobs, short(r.Duration), detail))
	}
	byStatus := map[string][]mig.Instance{}
	for _, in := range snap.Instances {
		if in.Group == g.Name && in.Region == g.Region {
			byStatus[in.Status] = append(byStatus[in.Status], in)
		}
	}
	for _, status := range slices.Sorted(maps.Keys(byStatus)) {
		some := byStatus[status]
		rows = append(rows, row(g.Name, mig.Names(some), strings.ToLower(status), jobs, ends(some), some[0].Zone))
	}
	if len(rows) == 0 {
		detail := ""
		if n := len(g.Requests); n > 0 {
			last := g.Requests[n-1]
			detail = strings.TrimSpace(last.Name + " " + strings.ToLower(string(last.State)) + " " + last.Message)
		}
		rows = append(rows, row(g.Name, nil, "empty", jobs, "", detail))
	}
	return rows
}

func row(group string, nodes []string, state string, jobs map[string][]uint32, lease, detail string) []string {
	var ids []string
	for _, n := range nodes {
		for _, id := range jobs[n] {
			if s := strconv.FormatUint(uint64(id), 10); !slices.Contains(ids, s) {
				ids = append(ids, s)
			}
		}
	}
	return []string{group, slurm.Fold(nodes), state, cmp.Or(strings.Join(ids, ","), "-"), lease, detail}
}

// ends tells when the first of the instances' leases ends, in local time.
func ends(instances []mig.Instance) string {
	var first time.Time
	for _, in := range instances {
		if !in.Terminates.IsZero() && (first.IsZero() || in.Terminates.Before(first)) {
			first = in.Terminates
		}
	}
	if first.IsZero() {
		return ""
	}
	return "ends " + first.Local().Format("Jan 2 15:04:05")
}

func age(now, since time.Time) string { return short(now.Sub(since).Round(time.Second)) }

func short(d time.Duration) string {
	return slurm.Limit{Kind: slurm.LimitSet, Duration: max(d, 0)}.String()
}

func jobsByNode(jobs []slurm.Job) map[string][]uint32 {
	byNode := map[string][]uint32{}
	for _, j := range jobs {
		for _, n := range j.Nodes {
			byNode[n] = append(byNode[n], j.ID)
		}
	}
	return byNode
}

// nodeStates counts the nodeset's nodes by their state in Slurm.
func nodeStates(cfg *config.Config, ns *config.NodeSet, nodes []slurm.Node) string {
	byState := map[string][]string{}
	for _, n := range nodes {
		if set, _, ok := cfg.Find(n.Name); ok && set == ns {
			byState[n.State.String()] = append(byState[n.State.String()], n.Name)
		}
	}
	var parts []string
	for _, state := range slices.Sorted(maps.Keys(byState)) {
		parts = append(parts, fmt.Sprintf("%s %s", slurm.Fold(byState[state]), state))
	}
	return cmp.Or(strings.Join(parts, ", "), "none of them is known to Slurm")
}

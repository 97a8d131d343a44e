package view

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"

	"slurmflex/mig"
	"slurmflex/slurm"
)

// Host is where a node's machine is, in Compute's ids.
type Host struct {
	Node     string `json:"node"`
	Cluster  string `json:"cluster"`
	Block    string `json:"block"`
	Subblock string `json:"subblock"`
	Host     string `json:"host"`
}

// byPlace puts machines that are near each other together.
func byPlace(a, b Host) int {
	return cmp.Or(cmp.Compare(a.Cluster, b.Cluster), cmp.Compare(a.Block, b.Block), cmp.Compare(a.Subblock, b.Subblock), cmp.Compare(a.Host, b.Host))
}

// hosts are those of our machines, in the order of their names.
func (b *builder) hosts() []Host {
	all := make([]Host, 0, len(b.scene.Machines()))
	for _, in := range b.scene.Machines() {
		if at := in.Host; at != (mig.Host{}) && b.scene.Belongs(in) {
			all = append(all, Host{in.Name, at.Cluster, at.Block, at.Subblock, at.Host})
		}
	}
	return all
}

// hostsOf are those of nodes, as far as they are known, neighbours together.
func (v View) hostsOf(nodes []string) []Host {
	wanted := map[string]bool{}
	for _, name := range nodes {
		wanted[name] = true
	}
	found := keep(v.Hosts, func(h Host) bool { return wanted[h.Node] })
	slices.SortStableFunc(found, byPlace)
	return found
}

// machines are the nodes that a story is about.
func (t *teller) machines() []string {
	nodes := slices.Clone(t.nodes)
	for _, j := range t.Jobs {
		if t.id != 0 && j.ID == t.id {
			names, _ := slurm.Expand(j.Nodes) // it was folded here
			nodes = append(nodes, names...)
		}
	}
	for _, name := range t.groups {
		if g, ok := t.find(name); ok && t.id == 0 && len(t.nodes) == 0 {
			names, _ := slurm.Expand(g.Instances) // likewise
			nodes = append(nodes, names...)
		}
	}
	return nodes
}

// shownID is how much of an id people are shown, in characters; JSON has all.
const shownID = 12

// HostTable is where the machines are, as text.
func (s Story) HostTable() string {
	if len(s.Hosts) == 0 {
		return "  Compute does not show where its machines are.\n"
	}
	short := func(id string) string {
		id = Printable(cmp.Or(id, "-"))
		return id[max(0, len(id)-shownID):]
	}
	var text strings.Builder
	w := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(w, "  NODE\tCLUSTER\tBLOCK\tSUBBLOCK\tHOST")
	for _, h := range s.Hosts {
		_, _ = fmt.Fprintf(w, "  %s\t%s\t%s\t%s\t%s\n", h.Node, Printable(cmp.Or(h.Cluster, "-")), short(h.Block), short(h.Subblock), short(h.Host))
	}
	_ = w.Flush() // a strings.Builder takes all
	return text.String()
}

// Ranks are a job's nodes in the order in which its ranks should be on them:
// neighbours together, then those of which Compute does not show where they are, in
// Slurm's order. It fails if there is no such job, or it has no nodes.
func (v View) Ranks(job string) (nodes, unknown []string, err error) {
	j, _, err := v.Find(job)
	if err != nil {
		return nil, nil, err
	}
	all, err := slurm.Expand(j.Nodes)
	if err != nil || len(all) == 0 {
		return nil, nil, fmt.Errorf("job %s has no nodes yet; ask again from its script", job)
	}
	for _, h := range v.hostsOf(all) {
		nodes = append(nodes, h.Node)
	}
	for _, name := range all {
		if !slices.Contains(nodes, name) {
			unknown = append(unknown, name)
		}
	}
	return append(nodes, unknown...), unknown, nil
}

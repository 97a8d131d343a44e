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

// Host is the location of a node's machine, as ids of Compute.
type Host struct {
	Node     string `json:"node"`
	Cluster  string `json:"cluster"`
	Block    string `json:"block"`
	Subblock string `json:"subblock"`
	Host     string `json:"host"`
}

// byPlace compares machines by location, so that sorting puts neighbours together.
func byPlace(a, b Host) int {
	return cmp.Or(cmp.Compare(a.Cluster, b.Cluster), cmp.Compare(a.Block, b.Block), cmp.Compare(a.Subblock, b.Subblock), cmp.Compare(a.Host, b.Host))
}

// hosts returns the locations of the cluster's machines, by name.
func (b *builder) hosts() []Host {
	all := make([]Host, 0, len(b.scene.Machines()))
	for _, in := range b.scene.Machines() {
		if at := in.Host; at != (mig.Host{}) && b.scene.Belongs(in) {
			all = append(all, Host{in.Name, at.Cluster, at.Block, at.Subblock, at.Host})
		}
	}
	return all
}

// hostsOf returns the known locations of nodes, with neighbours together.
func (v View) hostsOf(nodes []string) []Host {
	wanted := map[string]bool{}
	for _, name := range nodes {
		wanted[name] = true
	}
	found := keep(v.Hosts, func(h Host) bool { return wanted[h.Node] })
	slices.SortStableFunc(found, byPlace)
	return found
}

// machines returns the nodes that a story is about.
func (t *teller) machines() []string {
	nodes := slices.Clone(t.nodes)
	for _, j := range t.Jobs {
		if t.id != 0 && j.ID == t.id {
			names, _ := slurm.Expand(j.Nodes) // hostlist made by this package
			nodes = append(nodes, names...)
		}
	}
	for _, name := range t.groups {
		if g, ok := t.find(name); ok && t.id == 0 && len(t.nodes) == 0 {
			names, _ := slurm.Expand(g.Instances) // hostlist made by this package
			nodes = append(nodes, names...)
		}
	}
	return nodes
}

// shownID is the number of characters of an id that texts show. JSON shows the whole id.
const shownID = 12

// HostTable formats the locations of the machines.
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
	_ = w.Flush() // a strings.Builder never fails
	return text.String()
}

// Ranks returns the lines of a job's SLURM_HOSTFILE: each node as often as it has tasks, in the best
// order for the job's ranks. Neighbours are together, followed by the nodes without a known location,
// in Slurm's order. It fails if the job does not exist or lacks nodes.
func (v View) Ranks(job string, tasks int) (lines string, unknown []string, err error) {
	j, _, err := v.Find(job)
	if err != nil {
		return "", nil, err
	}
	all, err := slurm.Expand(j.Nodes)
	if err != nil || len(all) == 0 {
		return "", nil, fmt.Errorf("job %s has no nodes yet; ask again from its script", job)
	}
	var nodes []string
	for _, h := range v.hostsOf(all) {
		nodes = append(nodes, h.Node)
	}
	for _, name := range all {
		if !slices.Contains(nodes, name) {
			unknown = append(unknown, name)
		}
	}
	var text strings.Builder
	for _, node := range append(nodes, unknown...) {
		text.WriteString(strings.Repeat(node+"\n", tasks))
	}
	return text.String(), unknown, nil
}

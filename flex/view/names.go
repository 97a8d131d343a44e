package view

import (
	"slices"
	"strings"
)

// NodeSetNames returns the names of the flex-start nodesets.
func (v View) NodeSetNames() (names []string) {
	for _, set := range v.NodeSets {
		names = append(names, set.Name)
	}
	return names
}

// Partitions returns the partitions with flex-start nodes.
func (v View) Partitions() (names []string) {
	for _, set := range v.NodeSets {
		names = append(names, set.Partitions...)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// Users returns the owners of jobs.
func (v View) Users() (names []string) {
	for _, j := range v.Jobs {
		if j.User != "" {
			names = append(names, j.User)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// Subjects returns the jobs, groups and nodes with this prefix that Why can explain. Nodes, which
// may number thousands, are omitted for an empty prefix.
func (v View) Subjects(prefix string) []string {
	var names []string
	for _, j := range v.Jobs {
		// Tasks that are not split off yet have a set as their name.
		if name := j.Name(); !strings.Contains(name, "[") {
			names = append(names, name)
		}
	}
	for _, g := range v.Groups {
		names = append(names, g.Name)
	}
	for _, set := range v.NodeSets {
		for _, n := range set.States {
			if prefix != "" {
				names = append(names, n.Nodes...)
			}
		}
	}
	return keep(names, func(name string) bool { return strings.HasPrefix(name, prefix) })
}

package view

import "slices"

// NodeSetNames returns the names of the flex-start nodesets.
func (v View) NodeSetNames() []string { return namesOf(v.NodeSets) }

func namesOf(sets []NodeSet) (names []string) {
	for _, set := range sets {
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

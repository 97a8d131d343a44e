package view

import (
	"slices"

	"slurmflex/slurm"
)

// Hostlist is a list of nodes. In texts and in JSON it is a hostlist as Slurm writes it.
type Hostlist []string

func (h Hostlist) String() string { return slurm.Fold(h) }

// MarshalText writes a hostlist.
func (h Hostlist) MarshalText() ([]byte, error) { return []byte(h.String()), nil }

// UnmarshalText reads a hostlist. A text that is none is one name.
func (h *Hostlist) UnmarshalText(text []byte) error {
	names, err := slurm.Expand(string(text))
	if err != nil {
		names = []string{string(text)}
	}
	*h = names
	return nil
}

// has reports whether the list has the node.
func (h Hostlist) has(node string) bool { return slices.Contains(h, node) }

package history

import (
	"slices"

	"slurmflex/flex/plan/scene"
)

// Machines returns the cluster's machines, except those with an unknown creation time.
func Machines(s *scene.Scene) []scene.Machine {
	return slices.DeleteFunc(slices.Clone(s.Machines), func(in scene.Machine) bool { return !in.Belongs || in.Created.IsZero() })
}

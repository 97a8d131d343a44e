package history

import (
	"slices"

	"slurmflex/flex/plan/scene"
	"slurmflex/slurm"
)

// Machines returns the cluster's machines, except those with an unknown creation time.
func Machines(s *scene.Scene) []scene.Machine {
	return slices.DeleteFunc(slices.Clone(s.Machines), func(in scene.Machine) bool { return !in.Belongs || in.Created.IsZero() })
}

// Registered reports whether the slurmd of a node in that state has registered and still answers.
func Registered(s slurm.State) bool {
	const without = slurm.PoweredDown | slurm.PoweringDown | slurm.PoweringUp | slurm.PowerUp | slurm.NotResponding
	up := s.Base == slurm.Idle || s.Base == slurm.Allocated || s.Base == slurm.Mixed
	return up && s.Flags&without == 0
}

package history

import (
	"iter"

	"slurmflex/flex/plan/scene"
	"slurmflex/slurm"
)

// Machine identifies an instance, because a name may be reused.
type Machine struct {
	Zone, Name string
	Created    int64 // Unix time
}

// Machines yields the cluster's machines, except those with an unknown creation time.
func Machines(s *scene.Scene) iter.Seq2[Machine, scene.Machine] {
	return func(yield func(Machine, scene.Machine) bool) {
		for _, in := range s.Machines() {
			if s.Belongs(in) && !in.Created.IsZero() && !yield(Machine{in.Zone, in.Name, in.Created.Unix()}, in) {
				return
			}
		}
	}
}

// Registered reports whether the slurmd of a node in that state has registered and still answers.
func Registered(s slurm.State) bool {
	const without = slurm.PoweredDown | slurm.PoweringDown | slurm.PoweringUp | slurm.PowerUp | slurm.NotResponding
	up := s.Base == slurm.Idle || s.Base == slurm.Allocated || s.Base == slurm.Mixed
	return up && s.Flags&without == 0
}

package plan

import "slurmflex/slurm"

// What Slurm wants of a node's machine.
const (
	unclear = slurm.Unclear
	down    = slurm.Off
	rising  = slurm.Rising
	up      = slurm.On
)

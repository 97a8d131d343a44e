package scene

import "slurmflex/slurm"

// What Slurm wants of a node's machine.
const (
	Unclear = slurm.Unclear
	Off     = slurm.Off
	Rising  = slurm.Rising
	On      = slurm.On
)

package scene

import "slurmflex/slurm"

// The power states that Slurm wants for a node's machine.
const (
	Unclear = slurm.Unclear
	Off     = slurm.Off
	Rising  = slurm.Rising
	On      = slurm.On
)

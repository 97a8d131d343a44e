package plan

import (
	"slurmflex/slurm"
)

// power is what Slurm wants of a node's machine.
type power uint8

const (
	unclear power = iota // a state that we do not understand: hands off
	down                 // no machine: powered down, or on the way there
	rising               // a machine is to come: powering up, or about to
	up                   // a machine is there and registered, or was
)

// powerOf reads the power state out of a node's state. It is total: flags that
// we do not know make it unclear. Source: trials on Slurm 22.05 to 26.05, where
// a node that is allocated while powered down shows POWERED_DOWN until slurmctld
// has called ResumeProgram, and a power_up by hand shows POWERED_DOWN+POWER_UP.
func powerOf(s slurm.State) power {
	switch {
	case s.Unknown != "" || s.Base == slurm.BaseUnknown && !s.IsIdle() || s.Base == slurm.Future:
		return unclear
	case s.Has(slurm.PoweringDown):
		return down
	case s.Has(slurm.PoweringUp), s.Has(slurm.PowerUp):
		return rising
	case s.Has(slurm.PoweredDown) && s.Held():
		return rising
	case s.Has(slurm.PoweredDown):
		return down
	}
	return up
}

package slurm

// Power is what Slurm wants for a node's machine.
type Power uint8

// The values of Power.
const (
	Unclear Power = iota // an unknown state: slurmflex leaves the machine alone
	Off                  // no machine: powered down, or powering down
	Rising               // a machine is needed: powering up, or about to
	On                   // the machine runs and has registered, or did so earlier
)

// Power derives from a node's state what Slurm wants for its machine. It is defined for every
// state: unknown flags make it Unclear. Source: tests on Slurm 22.05 to 26.05. There, a node that
// is allocated while powered down shows POWERED_DOWN until slurmctld has called ResumeProgram, and
// a manual power_up shows POWERED_DOWN+POWER_UP.
func (s State) Power() Power {
	switch {
	case s.Unknown != "" || s.Base == BaseUnknown && !s.IsIdle() || s.Base == Future:
		return Unclear
	case s.Has(PoweringDown):
		return Off
	case s.Has(PoweringUp), s.Has(PowerUp), s.Has(PoweredDown) && s.Held():
		return Rising
	case s.Has(PoweredDown):
		return Off
	}
	return On
}

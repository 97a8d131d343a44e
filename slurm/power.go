package slurm

// Power is what Slurm wants of a node's machine.
type Power uint8

// The values.
const (
	Unclear Power = iota // a state that we do not understand: hands off
	Off                  // no machine: powered down, or on the way there
	Rising               // a machine is to come: powering up, or about to
	On                   // a machine is there and registered, or was
)

// Power reads what Slurm wants of the node's machine out of its state. It is total:
// flags that we do not know make it unclear. Source: trials on Slurm 22.05 to 26.05,
// where a node that is allocated while powered down shows POWERED_DOWN until slurmctld
// has called ResumeProgram, and a power_up by hand shows POWERED_DOWN+POWER_UP.
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

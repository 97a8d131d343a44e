package view

import "slurmflex/slurm"

// The words for a node's state in Slurm.
const (
	notUnderstood = "not understood"
	poweredDown   = "powered down"
	poweringDown  = "powering down"
	poweringUp    = "powering up"
	drained       = "drained"
	draining      = "draining"
	failing       = "failing"
	down          = "down"
	notResponding = "not responding"
	inUse         = "in use"
	idle          = "idle"
)

// Word says what a node is doing, of all that Slurm says about it what matters
// most to people. A state that slurmflex does not understand is one of them.
func Word(s slurm.State) string {
	switch {
	case s.Power() == slurm.Unclear:
		return notUnderstood
	case s.Has(slurm.Drain) && s.Held():
		return draining
	case s.Has(slurm.Drain):
		return drained
	case s.Base == slurm.Down || s.Base == slurm.BaseError:
		return down
	case s.Has(slurm.Fail):
		return failing
	case s.Has(slurm.PoweringDown):
		return poweringDown
	case s.Power() == slurm.Rising:
		return poweringUp
	case s.Has(slurm.PoweredDown):
		return poweredDown
	case s.Has(slurm.NotResponding):
		return notResponding
	case s.Held():
		return inUse
	}
	return idle
}

// stateOf is the state of a row of machines whose node shows that word.
func stateOf(word string) State {
	switch word {
	case poweringUp:
		return Booting
	case inUse, draining:
		return Running
	case idle:
		return Idle
	case poweringDown, poweredDown:
		return Leaving
	}
	return Down
}

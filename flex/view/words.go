package view

import (
	"slices"

	"slurmflex/slurm"
)

// These are the words for a node's state in Slurm.
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

// Word returns the one state of a node that matters most to people, out of everything that Slurm
// reports. States that slurmflex does not understand are included.
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

// stateOf returns the state of a row of machines on nodes with that word.
func stateOf(word string) State {
	switch word {
	case poweringUp:
		return Booting
	case inUse, draining:
		return Running
	case idle:
		return Idle
	case poweringDown, poweredDown:
		return Deleting
	}
	return Down
}

// isOut reports whether the nodes are out of service: Slurm starts no job on them.
func (n Nodes) isOut() bool {
	return slices.Contains([]string{down, drained, draining, failing}, n.State)
}

package slurm

import (
	"slices"
	"strings"
)

// base is a node's state without its flags.
type base uint8

// The base states. BaseUnknown is also the base of text without a base state.
const (
	BaseUnknown base = iota
	Down
	Idle
	Allocated
	BaseError
	Mixed
	Future
)

// baseNames are Slurm's spellings, in the order of the constants.
var baseNames = [...]string{"UNKNOWN", "DOWN", "IDLE", "ALLOCATED", "ERROR", "MIXED", "FUTURE"}

// Flags is a set of the flags that follow a node's base state.
type Flags uint64

// The flags that Slurm 22.05 to 26.05 print. 24.11 no longer has Perfctrs. Blocked exists since
// 24.11 at the latest, External since 25.05.
const (
	Cloud Flags = 1 << iota
	Completing
	Drain
	DynamicFuture
	DynamicNorm
	InvalidReg
	Fail
	Maintenance
	PowerDown // a power-down is pending
	PowerUp   // a power-up is pending
	PoweredDown
	PoweringUp
	PoweringDown
	RebootRequested
	RebootIssued
	Reserved
	Resume
	NotResponding
	Planned
	Perfctrs
	Blocked
	External
)

// flagNames are the spellings of the flags.
var flagNames = [...]string{
	"CLOUD", "COMPLETING", "DRAIN", "DYNAMIC_FUTURE", "DYNAMIC_NORM", "INVALID_REG", "FAIL", "MAINTENANCE",
	"POWER_DOWN", "POWER_UP", "POWERED_DOWN", "POWERING_UP", "POWERING_DOWN", "REBOOT_REQUESTED", "REBOOT_ISSUED",
	"RESERVED", "RESUME", "NOT_RESPONDING", "PLANNED", "PERFCTRS", "BLOCKED", "EXTERNAL",
}

// State is a node's state. States with the same meaning are equal, in whatever order Slurm printed
// the words.
type State struct {
	Base  base
	Flags Flags
	// Unknown holds the words that no known Slurm version uses as a state, sorted and joined by
	// '+', so that they can be counted.
	Unknown string
}

// ParseState parses a state as printed by scontrol (IDLE+CLOUD+POWERED_DOWN). It accepts any text and
// stores unknown words in Unknown.
func ParseState(text string) State {
	var state State
	var unknown []string
	based := false
	for word := range strings.SplitSeq(text, "+") {
		if word == "" {
			continue
		}
		if i := slices.Index(flagNames[:], word); i >= 0 {
			state.Flags |= 1 << i
			continue
		}
		if i := slices.Index(baseNames[:], word); i >= 0 && !based {
			state.Base, based = base(i), true
			continue
		}
		unknown = append(unknown, word)
	}
	slices.Sort(unknown)
	state.Unknown = strings.Join(slices.Compact(unknown), "+")
	return state
}

// Has reports whether the state has all of the flags.
func (s State) Has(flags Flags) bool { return s.Flags&flags == flags }

// IsIdle reports whether the node's base state is idle. After a reconfigure, Slurm 26.05.0 to
// 26.05.4 show UNKNOWN as the base state of a node that is powered down.
func (s State) IsIdle() bool {
	return s.Base == Idle || s.Base == BaseUnknown && s.Has(PoweredDown)
}

// IsUp reports whether the node has registered, responds, and is neither DOWN nor drained nor about to
// be powered down.
func (s State) IsUp() bool {
	return s.Power() == On && s.Base != Down && s.Flags&(NotResponding|Drain|PowerDown) == 0
}

// Held reports whether a job has the node, or is leaving it.
func (s State) Held() bool {
	return s.Base == Allocated || s.Base == Mixed || s.Has(Completing)
}

// String returns the state in scontrol's form: base, flags in the order of the constants, unknown words.
// ParseState accepts the result.
func (s State) String() string {
	text := baseNames[s.Base]
	for i, name := range flagNames {
		if s.Flags&(1<<i) != 0 {
			text += "+" + name
		}
	}
	if s.Unknown != "" {
		text += "+" + s.Unknown
	}
	return text
}

// Registered reports whether the slurmd of a node in that state has registered and still answers.
func (s State) Registered() bool {
	const without = PoweredDown | PoweringDown | PoweringUp | PowerUp | NotResponding
	up := s.Base == Idle || s.Base == Allocated || s.Base == Mixed
	return up && s.Flags&without == 0
}

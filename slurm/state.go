package slurm

import (
	"slices"
	"strings"
)

// Base is what a node's state is without its flags.
type Base uint8

// The base states. BaseUnknown is also the base of a text without any.
const (
	BaseUnknown Base = iota
	Down
	Idle
	Allocated
	BaseError
	Mixed
	Future
)

// String gives Slurm's word.
func (b Base) String() string {
	if int(b) < len(baseNames) {
		return baseNames[b]
	}
	return baseNames[BaseUnknown]
}

var baseNames = [...]string{"UNKNOWN", "DOWN", "IDLE", "ALLOCATED", "ERROR", "MIXED", "FUTURE"}

// Flags is a set of the flags that follow a node's base state.
type Flags uint64

// The flags that Slurm 22.05 to 26.05 print. Perfctrs is gone by 24.11;
// Blocked came by 24.11 and External with 25.05.
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

// flagNames are Slurm's words, in the order of the constants.
var flagNames = [...]string{
	"CLOUD", "COMPLETING", "DRAIN", "DYNAMIC_FUTURE", "DYNAMIC_NORM", "INVALID_REG", "FAIL", "MAINTENANCE",
	"POWER_DOWN", "POWER_UP", "POWERED_DOWN", "POWERING_UP", "POWERING_DOWN", "REBOOT_REQUESTED", "REBOOT_ISSUED",
	"RESERVED", "RESUME", "NOT_RESPONDING", "PLANNED", "PERFCTRS", "BLOCKED", "EXTERNAL",
}

// String gives Slurm's words joined by '+', in the order of the constants.
func (f Flags) String() string {
	var names []string
	for i, name := range flagNames {
		if f&(1<<i) != 0 {
			names = append(names, name)
		}
	}
	return strings.Join(names, "+")
}

// State is a node's state. States are equal when they mean the same, however
// Slurm ordered the words.
type State struct {
	Base  Base
	Flags Flags
	// Unknown holds the words that are no state of a known Slurm, sorted and
	// joined by '+', so that they can be counted.
	Unknown string
}

// ParseState reads a state as scontrol prints it (IDLE+CLOUD+POWERED_DOWN) or
// as sinfo's StateComplete does (in small letters), and the marks that sinfo
// appends to a word (idle~, down*). It reads any text: what it does not know
// is in Unknown.
func ParseState(text string) State {
	var state State
	var unknown []string
	based := false
	for word := range strings.SplitSeq(text, "+") {
		word, marks := cutMarks(word)
		state.Flags |= marks
		word = upperASCII(word)
		if word == "" {
			continue
		}
		if i := slices.Index(flagNames[:], word); i >= 0 {
			state.Flags |= 1 << i
			continue
		}
		if i := slices.Index(baseNames[:], word); i >= 0 && !based {
			state.Base, based = Base(i), true
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

// IsIdle reports whether the node's base state is idle. After a reconfigure Slurm
// 26.05.0 to 26.05.4 show UNKNOWN in its place for a node that is powered down.
func (s State) IsIdle() bool {
	return s.Base == Idle || s.Base == BaseUnknown && s.Has(PoweredDown)
}

// Held reports whether the state says that a job has the node, or is leaving it.
func (s State) Held() bool {
	return s.Base == Allocated || s.Base == Mixed || s.Has(Completing)
}

// String gives the state as scontrol does: base, flags, and what is unknown.
// ParseState reads it back.
func (s State) String() string {
	text := s.Base.String()
	if s.Flags != 0 {
		text += "+" + s.Flags.String()
	}
	if s.Unknown != "" {
		text += "+" + s.Unknown
	}
	return text
}

// cutMarks cuts spaces and sinfo's marks off the end of a word
// (sinfo(1), NODE STATE CODES).
func cutMarks(word string) (bare string, flags Flags) {
	word = strings.TrimLeft(word, " \t\r\n")
	for word != "" {
		switch word[len(word)-1] {
		case ' ', '\t', '\r', '\n':
		case '*':
			flags |= NotResponding
		case '~':
			flags |= PoweredDown
		case '#':
			flags |= PoweringUp
		case '%':
			flags |= PoweringDown
		case '!':
			flags |= PowerDown
		case '$':
			flags |= Maintenance
		case '@':
			flags |= RebootRequested
		case '^':
			flags |= RebootIssued
		case '-':
			flags |= Planned
		default:
			return word, flags
		}
		word = word[:len(word)-1]
	}
	return "", flags
}

// upperASCII makes a to z capital and leaves every other byte, so that text in
// no known encoding stays as it is.
func upperASCII(s string) string {
	if !strings.ContainsFunc(s, func(r rune) bool { return 'a' <= r && r <= 'z' }) {
		return s
	}
	b := []byte(s)
	for i, c := range b {
		if 'a' <= c && c <= 'z' {
			b[i] = c - 'a' + 'A'
		}
	}
	return string(b)
}

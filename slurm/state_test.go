package slurm

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestParseState(t *testing.T) {
	for _, test := range []struct {
		name, text string
		want       State
	}{
		{"a base alone", "IDLE", State{Base: Idle}},
		{"a base and flags", "ALLOCATED+CLOUD+POWERING_UP", State{Base: Allocated, Flags: Cloud | PoweringUp}},
		{"flags in another order", "ALLOCATED+POWERING_UP+CLOUD", State{Base: Allocated, Flags: Cloud | PoweringUp}},
		{"sinfo's small letters", "down+cloud+not_responding", State{Base: Down, Flags: Cloud | NotResponding}},
		{"sinfo's mark for powered down", "idle~", State{Base: Idle, Flags: PoweredDown}},
		{"sinfo's mark for powering up", "mixed#", State{Base: Mixed, Flags: PoweringUp}},
		{"sinfo's mark for powering down", "idle%", State{Base: Idle, Flags: PoweringDown}},
		{"sinfo's mark for a pending power-down", "allocated!", State{Base: Allocated, Flags: PowerDown}},
		{"sinfo's mark for not responding", "DOWN*", State{Base: Down, Flags: NotResponding}},
		{"sinfo's marks for maintenance, reboots and plans", "idle$@^-", State{Base: Idle, Flags: Maintenance | RebootRequested | RebootIssued | Planned}},
		{"the base UNKNOWN is known", "UNKNOWN+CLOUD", State{Flags: Cloud}},
		{"words of a later Slurm are kept, sorted", "IDLE+WARP+CLOUD+ASLEEP+WARP", State{Base: Idle, Flags: Cloud, Unknown: "ASLEEP+WARP"}},
		{"a second base is not known", "IDLE+DOWN", State{Base: Idle, Unknown: "DOWN"}},
		{"nothing", "", State{}},
		{"the base FUTURE", "FUTURE", State{Base: Future}},
		{"the base ERROR", "ERROR", State{Base: BaseError}},
	} {
		t.Run(test.name, func(t *testing.T) {
			require.Equal(t, test.want, ParseState(test.text))
		})
	}
}

func TestEveryFlagHasItsWord(t *testing.T) {
	words := map[Flags]string{
		Cloud: "CLOUD", Completing: "COMPLETING", Drain: "DRAIN", DynamicFuture: "DYNAMIC_FUTURE",
		DynamicNorm: "DYNAMIC_NORM", InvalidReg: "INVALID_REG", Fail: "FAIL", Maintenance: "MAINTENANCE",
		PowerDown: "POWER_DOWN", PowerUp: "POWER_UP", PoweredDown: "POWERED_DOWN", PoweringUp: "POWERING_UP",
		PoweringDown: "POWERING_DOWN", RebootRequested: "REBOOT_REQUESTED", RebootIssued: "REBOOT_ISSUED",
		Reserved: "RESERVED", Resume: "RESUME", NotResponding: "NOT_RESPONDING", Planned: "PLANNED",
		Perfctrs: "PERFCTRS", Blocked: "BLOCKED", External: "EXTERNAL",
	}
	require.Len(t, words, len(flagNames))
	for flag, word := range words {
		require.Equal(t, State{Base: Idle, Flags: flag}, ParseState("IDLE+"+word))
		require.Equal(t, "IDLE+"+word, State{Base: Idle, Flags: flag}.String())
	}
}

func TestStateHasAFlagOnlyIfItHasAllOfThem(t *testing.T) {
	state := ParseState("IDLE+CLOUD+POWERED_DOWN+POWER_UP")
	require.True(t, state.Has(PoweredDown|PowerUp))
	require.False(t, state.Has(PoweredDown|PoweringUp))
	require.True(t, state.Has(0))
}

func TestANodeIsHeldByAJobThatHasItOrLeavesIt(t *testing.T) {
	for text, held := range map[string]bool{
		"ALLOCATED+CLOUD+POWERED_DOWN": true, "MIXED": true, "IDLE+COMPLETING": true,
		"IDLE+CLOUD+POWERING_UP": false, "DOWN": false, "IDLE+RESERVED": false,
	} {
		require.Equal(t, held, ParseState(text).Held(), text)
	}
}

func FuzzParseState(f *testing.F) {
	for _, text := range []string{"IDLE+CLOUD+POWERED_DOWN", "down*", "x*+a", "+", "a *+ ~", "idle\x00", "UNKNOWN+ÄÖ"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		state := ParseState(text)
		require.Equal(t, state, ParseState(state.String()))
	})
}

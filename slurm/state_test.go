package slurm

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestParseState(t *testing.T) {
	each(t, ParseState, map[string]State{
		"IDLE":                        {Base: Idle},
		"ALLOCATED+POWERING_UP+CLOUD": {Base: Allocated, Flags: Cloud | PoweringUp},
		"UNKNOWN+CLOUD":               {Flags: Cloud},
		"IDLE+WARP+CLOUD+ASLEEP+WARP": {Base: Idle, Flags: Cloud, Unknown: "ASLEEP+WARP"}, // words of a later Slurm
		"IDLE+DOWN":                   {Base: Idle, Unknown: "DOWN"},
		"":                            {},
		"FUTURE":                      {Base: Future},
		"ERROR":                       {Base: BaseError},
	})
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

func TestNodeIsHeldByARunningOrLeavingJob(t *testing.T) {
	for text, held := range map[string]bool{
		"ALLOCATED+CLOUD+POWERED_DOWN": true, "MIXED": true, "IDLE+COMPLETING": true,
		"IDLE+CLOUD+POWERING_UP": false, "DOWN": false, "IDLE+RESERVED": false,
	} {
		require.Equal(t, held, ParseState(text).Held(), text)
	}
}

func TestParseLimit(t *testing.T) {
	each(t, ParseLimit, map[string]Limit{
		"30:00":              limitOf(30 * time.Minute), // of squeue
		"1:40:00":            limitOf(100 * time.Minute),
		"1-02:04:00":         limitOf(26*time.Hour + 4*time.Minute),
		"0:00":               limitOf(0),
		"00:30:00":           limitOf(30 * time.Minute), // of scontrol
		"7-00:00:00":         limitOf(7 * 24 * time.Hour),
		"00:00:59":           limitOf(59 * time.Second),
		"UNLIMITED":          {Kind: Unlimited},
		"INFINITE":           {Kind: Unlimited},
		"Partition_Limit":    {},
		"":                   {},
		"30":                 {}, // Slurm never prints that
		"-1:00":              {},
		"1-30:00":            {},
		"1:60:00":            {},
		"106752000-00:00:00": {}, // overflows
		"30:00 ":             {},
	})
}

func TestLimitPrintsAsScontrolDoes(t *testing.T) {
	for text, want := range map[string]string{"15:00": "00:15:00", "1-02:04:00": "1-02:04:00", "INFINITE": "UNLIMITED", "": "unknown"} {
		require.Equal(t, want, ParseLimit(text).String())
	}
}

func FuzzParseLimit(f *testing.F) {
	seeds(f, []string{"30:00", "1:40:00", "1-02:04:00", "UNLIMITED", "Partition_Limit", "99999-23:59:59"}...)
	f.Fuzz(func(t *testing.T, text string) {
		limit := ParseLimit(text)
		require.GreaterOrEqual(t, limit.Duration, time.Duration(0))
		require.Equal(t, limit, ParseLimit(limit.String()))
	})
}

func TestParseSeconds(t *testing.T) {
	for text, want := range map[string]Limit{
		"400": limitOf(400 * time.Second), "60 sec": limitOf(time.Minute), "0": limitOf(0),
		"INFINITE": {Kind: Unlimited}, "infinite": {Kind: Unlimited}, "NONE": {Kind: Unlimited}, "-1": {Kind: Unlimited},
		"GLOBAL": {}, "": {}, "soon": {}, "-5": {}, "99999999999": {},
	} {
		require.Equal(t, want, ParseSeconds(text), text)
	}
}

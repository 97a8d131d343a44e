package slurm

import (
	"testing"
	"time"

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

func TestNodeIsHeldByARunningOrLeavingJob(t *testing.T) {
	for text, held := range map[string]bool{
		"ALLOCATED+CLOUD+POWERED_DOWN": true, "MIXED": true, "IDLE+COMPLETING": true,
		"IDLE+CLOUD+POWERING_UP": false, "DOWN": false, "IDLE+RESERVED": false,
	} {
		require.Equal(t, held, ParseState(text).Held(), text)
	}
}

func TestParseLimit(t *testing.T) {
	set := func(d time.Duration) Limit { return Limit{Kind: LimitSet, Duration: d} }
	for _, test := range []struct {
		name, text string
		want       Limit
	}{
		{"squeue's minutes", "30:00", set(30 * time.Minute)},
		{"squeue's hours", "1:40:00", set(100 * time.Minute)},
		{"squeue's days", "1-02:04:00", set(26*time.Hour + 4*time.Minute)},
		{"squeue's year", "365-00:00:00", set(365 * 24 * time.Hour)},
		{"not a time", "0:00", set(0)},
		{"scontrol's minutes", "00:30:00", set(30 * time.Minute)},
		{"scontrol's hours", "01:40:00", set(100 * time.Minute)},
		{"scontrol's days", "7-00:00:00", set(7 * 24 * time.Hour)},
		{"seconds", "00:00:59", set(59 * time.Second)},
		{"unlimited", "UNLIMITED", Limit{Kind: Unlimited}},
		{"infinite", "INFINITE", Limit{Kind: Unlimited}},
		{"the partition's", "Partition_Limit", Limit{}},
		{"invalid", "INVALID", Limit{}},
		{"not set", "NOT_SET", Limit{}},
		{"not applicable", "N/A", Limit{}},
		{"nothing", "", Limit{}},
		{"a number alone, which Slurm never prints", "30", Limit{}},
		{"a negative one", "-1:00", Limit{}},
		{"days without hours", "1-30:00", Limit{}},
		{"too many minutes", "1:60:00", Limit{}},
		{"days that overflow", "106752000-00:00:00", Limit{}},
		{"text behind", "30:00 ", Limit{}},
	} {
		t.Run(test.name, func(t *testing.T) {
			require.Equal(t, test.want, ParseLimit(test.text))
		})
	}
}

func TestLimitPrintsAsScontrolDoes(t *testing.T) {
	require.Equal(t, "00:15:00", ParseLimit("15:00").String())
	require.Equal(t, "1-02:04:00", ParseLimit("1-02:04:00").String())
	require.Equal(t, "UNLIMITED", ParseLimit("INFINITE").String())
	require.Equal(t, "unknown", Limit{}.String())
}

func TestParseSeconds(t *testing.T) {
	require.Equal(t, Limit{Kind: LimitSet, Duration: time.Minute}, parseSeconds("60 sec"))
	require.Equal(t, Limit{Kind: LimitSet, Duration: 400 * time.Second}, parseSeconds("400"))
	require.Equal(t, Limit{Kind: Unlimited}, parseSeconds("INFINITE"))
	require.Equal(t, Limit{}, parseSeconds("GLOBAL"))
	require.Equal(t, Limit{}, parseSeconds(""))
	require.Equal(t, Limit{}, parseSeconds("5 min"))
}

func FuzzParseLimit(f *testing.F) {
	for _, text := range []string{"30:00", "1:40:00", "1-02:04:00", "UNLIMITED", "Partition_Limit", "99999-23:59:59"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		limit := ParseLimit(text)
		require.GreaterOrEqual(t, limit.Duration, time.Duration(0))
		require.Equal(t, limit, ParseLimit(limit.String()))
	})
}

package slurm

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

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
		{"no time at all", "0:00", set(0)},
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

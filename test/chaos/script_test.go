package chaos

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestASeedAlwaysHasTheSameScript(t *testing.T) {
	assert.Equal(t, fmt.Sprint(newDay(17)), fmt.Sprint(newDay(17)))
	assert.NotEqual(t, fmt.Sprint(newDay(17).script), fmt.Sprint(newDay(18).script))
}

func TestAScriptIsInOrderAndPrintsAsOneLineForEachEvent(t *testing.T) {
	for seed := range uint64(200) {
		d := newDay(seed)
		require.NotEmpty(t, d.script)
		assert.True(t, slices.IsSortedFunc(d.script, func(a, b appointment) int { return int(a.at - b.at) }))
		for i, a := range d.script {
			assert.Equal(t, i+1, a.no)
			assert.Less(t, a.at, storm)
			assert.NotContains(t, a.String(), "\n")
			assert.NotContains(t, a.String(), "%!")
		}
	}
}

func TestEveryKindOfTroubleComes(t *testing.T) {
	var all strings.Builder
	for seed := range uint64(300) {
		for _, a := range newDay(seed).script {
			fmt.Fprintln(&all, a)
		}
	}
	for _, words := range []string{
		"submit job", "cancel job", "powers alpha", "has room for", "live requests", "waiting request fails", "operations of", "lags",
		"is out of reach of", "machine vanishes", "machine stops", "all machines in", "do not register", "slurmd of", "Compute: ",
		"slurmctld: ", "slurmctld dies", "is killed", "is stopped, and started", "a second daemon", "cron starts", "hooks ", "clock jumps",
		"unblocks", "primary's slurmctld fails", "row of squeue", "aggregatedList says", "there is a machine", "refuses to change",
		"a SIGHUP with configuration", "half a configuration",
	} {
		assert.Contains(t, all.String(), words)
	}
}

func TestADayKeepsTheNumbersOfItsEvents(t *testing.T) {
	d := newDay(3)
	less := d.without(d.script[1:4])
	assert.Equal(t, append([]int{1}, d.numbers()[4:]...), less.numbers())
	assert.Equal(t, less.numbers(), d.only(less.numbers()).numbers())
	assert.Len(t, newDay(3).script, len(d.script), "the day itself is as it was")
}

func TestEveryEditionOfTheConfigurationIsValid(t *testing.T) {
	for seed := range uint64(50) {
		for e := range edition(4) {
			cfg, err := newSetup(dice(seed)).config(e)
			require.NoError(t, err)
			assert.Len(t, cfg.NodeSets, len(nodeSets()))
			assert.GreaterOrEqual(t, cfg.Options.Interval, time.Minute)
		}
	}
}

func TestADrawDependsOnTheSeedAndItsSubjectAlone(t *testing.T) {
	a, b := dice(7), dice(7)
	for i := range 100 {
		b.roll("something else", i)
	}
	assert.Equal(t, a.roll("way", 3), b.roll("way", 3))
	assert.NotEqual(t, a.roll("way", 3), a.roll("way", 4))
	assert.NotEqual(t, a.roll("way", 3), dice(8).roll("way", 3))
	assert.NotEqual(t, a.roll("ab", "c"), a.roll("a", "bc"))
}

// numbered is a day of that many events.
func numbered(n int) day {
	var d day
	for i := range n {
		d.script = append(d.script, appointment{no: i + 1, event: unblock("gang")})
	}
	return d
}

// needs makes a day break if all these events are in it.
func needs(numbers ...int) func(day) bool {
	return func(d day) bool {
		return !slices.ContainsFunc(numbers, func(n int) bool { return !slices.Contains(d.numbers(), n) })
	}
}

func TestTheShortestDayHasNoEventThatItDoesNotNeed(t *testing.T) {
	for name, wanted := range map[string][]int{
		"one":               {17},
		"the first":         {1},
		"the last":          {50},
		"two side by side":  {20, 21},
		"three far apart":   {2, 25, 49},
		"none of them":      nil,
		"all in one corner": {1, 2, 3, 4, 5, 6, 7},
	} {
		t.Run(name, func(t *testing.T) {
			short := shortest(numbered(50), needs(wanted...), 1000)
			assert.ElementsMatch(t, wanted, short.numbers())
		})
	}
}

func TestTheShortestDayIsLookedForSoManyTimesOnly(t *testing.T) {
	tried := 0
	short := shortest(numbered(50), func(d day) bool { tried++; return needs(2, 49)(d) }, 5)
	assert.Equal(t, 5, tried)
	assert.True(t, needs(2, 49)(short), "what it returns breaks still")
}

package chaos

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var (
	seeds       = flag.Int("seeds", 3, "how many days to live through")
	first       = flag.Uint64("first", 1, "the seed of the first of them")
	seed        = flag.Uint64("seed", 0, "live through the day of this seed alone")
	keep        = flag.String("keep", "all", "with only these events of its script, such as 3,7,12")
	journalFile = flag.String("journal", "", "and write all that happens to this file")
	tries       = flag.Int("tries", 120, "how many shorter days to try when one breaks an invariant")
)

// TestChaos plays the days of many seeds and reports broken invariants.
func TestChaos(t *testing.T) {
	var sum tally
	defer func() { fmt.Println(&sum) }()
	if *seed != 0 {
		replay(t, &sum)
		return
	}
	t.Run("days", func(t *testing.T) {
		for s := *first; s < *first+uint64(*seeds); s++ {
			t.Run(strconv.FormatUint(s, 10), func(t *testing.T) {
				t.Parallel()
				d := newDay(s)
				o := live(t, d)
				sum.add(o)
				if !o.failed {
					return
				}
				t.Fail()
				short := shortest(d, func(less day) bool {
					again := live(t, less)
					return again.failed && again.violation.kind == o.violation.kind
				}, *tries)
				report(os.Stdout, short, live(t, short))
			})
		}
	})
}

func TestReplayedDayIsIdentical(t *testing.T) {
	d := newDay(6)
	assert.Equal(t, live(t, d).digest, live(t, d).digest)
}

// replay plays one day, or a part of its script.
func replay(t *testing.T, sum *tally) {
	d := newDay(*seed)
	if *keep != "all" {
		var numbers []int
		if err := json.Unmarshal([]byte("["+*keep+"]"), &numbers); err != nil {
			t.Fatalf("-keep=%s: %v; give numbers of events, such as 3,7,12", *keep, err)
		}
		d = d.only(numbers)
	}
	o := live(t, d)
	sum.add(o)
	if *journalFile != "" {
		out, err := os.Create(*journalFile)
		if err != nil {
			t.Fatal(err)
		}
		defer out.Close()
		if err := o.journal.write(out); err != nil {
			t.Fatal(err)
		}
	}
	fmt.Printf("digest %s, %v of model time, %+v\n", o.digest, o.lasted, o.toll)
	if o.failed {
		report(os.Stdout, d, o)
		t.Fail()
	}
}

func TestSeedAlwaysHasTheSameScript(t *testing.T) {
	assert.Equal(t, fmt.Sprint(newDay(17)), fmt.Sprint(newDay(17)))
	assert.NotEqual(t, fmt.Sprint(newDay(17).script), fmt.Sprint(newDay(18).script))
}

func TestScriptIsSortedAndPrintsOneLinePerEvent(t *testing.T) {
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

func TestScriptsContainEveryKindOfTrouble(t *testing.T) {
	var all strings.Builder
	for seed := range uint64(300) {
		for _, a := range newDay(seed).script {
			fmt.Fprintln(&all, a)
		}
	}
	for _, words := range []string{
		"submit job", "cancel job", "powers alpha", "has room for", "ACTIVE_RESIZE_REQUESTS", "waiting request fails", "operations of", "lags",
		"is out of reach of", "is dead, for", "machine vanishes", "machine stops", "all machines in", "do not register", "slurmd of", "Compute: ",
		"slurmctld: ", "slurmctld dies", "is killed", "is stopped, and started", "a second daemon", "cron starts", "hooks ", "clock jumps",
		"unblocks", "primary's slurmctld fails", "row of squeue", "instances.list shows", "there is a machine", "refuses to change",
		"a SIGHUP with configuration", "half a configuration", "has run for", "it is preempted", "all are preempted", "SPOT machines", "STANDARD machines", "reservation h100s is of", "or to spot",
		"health checks fails", "the health check of", "change the features of", "change the excluded nodes of", "on one switch", "change the number of nodes of",
	} {
		assert.Contains(t, all.String(), words)
	}
}

func TestDayKeepsTheNumbersOfItsEvents(t *testing.T) {
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

func TestDrawDependsOnlyOnSeedAndSubject(t *testing.T) {
	a, b := dice(7), dice(7)
	for i := range 100 {
		b.roll("something else", i)
	}
	assert.Equal(t, a.roll("way", 3), b.roll("way", 3))
	assert.NotEqual(t, a.roll("way", 3), a.roll("way", 4))
	assert.NotEqual(t, a.roll("way", 3), dice(8).roll("way", 3))
	assert.NotEqual(t, a.roll("ab", "c"), a.roll("a", "bc"))
}

// numbered returns a day with n events.
func numbered(n int) day {
	var d day
	for i := range n {
		d.script = append(d.script, appointment{no: i + 1, event: unblock("gang")})
	}
	return d
}

// needs returns a function that reports whether all these events are in a day.
func needs(numbers ...int) func(day) bool {
	return func(d day) bool {
		return !slices.ContainsFunc(numbers, func(n int) bool { return !slices.Contains(d.numbers(), n) })
	}
}

func TestShortestDayHasOnlyNecessaryEvents(t *testing.T) {
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

func TestShortestDayLimitsItsTries(t *testing.T) {
	tried := 0
	short := shortest(numbered(50), func(d day) bool { tried++; return needs(2, 49)(d) }, 5)
	assert.Equal(t, 5, tried)
	assert.True(t, needs(2, 49)(short), "what it returns breaks still")
}

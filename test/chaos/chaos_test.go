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

	"github.com/stretchr/testify/assert"
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
				again := live(t, short)
				if !again.failed { // the order of goroutines differed
					short, again = d, o
				}
				report(os.Stdout, short, again)
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

func TestScriptsContainEveryKindOfTroubleInOneSortedLineEach(t *testing.T) {
	var all strings.Builder
	for seed := range uint64(300) {
		d := newDay(seed)
		assert.True(t, slices.IsSortedFunc(d.script, func(a, b appointment) int { return int(a.at - b.at) }))
		for _, a := range d.script {
			assert.NotContains(t, a.String(), "\n")
			fmt.Fprintln(&all, a)
		}
	}
	assert.NotContains(t, all.String(), "%!")
	for _, words := range []string{
		"submit job", "cancel job", "powers alpha", "has room for", "ACTIVE_RESIZE_REQUESTS", "waiting request fails", "operations of", "lags",
		"is out of reach of", "is dead, for", "machine vanishes", "machine stops", "all machines in", "do not register", "slurmd of", "Compute: ",
		"slurmctld: ", "slurmctld dies", "is killed", "is stopped, and started", "cron starts", "hooks ", "clock jumps",
		"unblocks", "primary's slurmctld fails", "row of squeue", "instances.list shows", "there is a machine", "refuses to change",
		"a SIGHUP with configuration", "half a configuration", "has run for", "it is preempted", "all are preempted", "SPOT machines", "STANDARD machines", "reservation h100s is of", "or to spot",
		"health checks fails", "the health check of", "change the features of", "change the excluded nodes of", "on one switch", "for maintenance", "change the number of nodes of",
	} {
		assert.Contains(t, all.String(), words)
	}
}

// numbered returns a day with n events.
func numbered(n int) day {
	var d day
	for i := range n {
		d.script = append(d.script, appointment{no: i + 1, event: unblock("gang")})
	}
	return d
}

func TestShortestDayHasOnlyNecessaryEventsWithinItsTries(t *testing.T) {
	for _, wanted := range [][]int{nil, {20, 21}, {1, 25, 50}} {
		tried := 0
		breaks := func(d day) bool { tried++; return len(d.only(wanted).script) == len(wanted) }
		assert.ElementsMatch(t, wanted, shortest(numbered(50), breaks, 1000).numbers())
		most := tried - 1
		tried = 0
		assert.True(t, breaks(shortest(numbered(50), breaks, most)), "what it returns breaks still")
		assert.Equal(t, most+1, tried)
	}
}

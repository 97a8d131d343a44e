package chaos

import (
	"flag"
	"fmt"
	"os"
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

// TestChaos lives through the days of many seeds, and reports what they broke.
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

func TestADayIsTheSameWheneverItIsLivedThrough(t *testing.T) {
	d := newDay(6)
	assert.Equal(t, live(t, d).digest, live(t, d).digest)
}

// replay lives through one day, or what is kept of it.
func replay(t *testing.T, sum *tally) {
	d := newDay(*seed)
	if *keep != "all" {
		d = d.only(numbersOf(t, *keep))
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

func numbersOf(t *testing.T, list string) []int {
	var numbers []int
	for text := range strings.SplitSeq(list, ",") {
		if text == "" {
			continue
		}
		n, err := strconv.Atoi(text)
		if err != nil {
			t.Fatalf("-keep=%s: %v; give numbers of events, such as 3,7,12", list, err)
		}
		numbers = append(numbers, n)
	}
	return numbers
}

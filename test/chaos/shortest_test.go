package chaos

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
)

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

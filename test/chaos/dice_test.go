package chaos

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

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

func TestDrawsAreSpread(t *testing.T) {
	const draws = 10_000
	hits := 0
	seen := map[int]int{}
	for i := range draws {
		if dice(1).oneIn(8, "hit", i) {
			hits++
		}
		seen[dice(1).number(2, 5, "number", i)]++
		d := dice(1).span(time.Second, 2*time.Second, "span", i)
		assert.True(t, time.Second <= d && d < 2*time.Second, "%v", d)
	}
	assert.InDelta(t, draws/8, hits, draws/50)
	assert.Len(t, seen, 4)
	for n, times := range seen {
		assert.InDelta(t, draws/4, times, draws/50, "%d", n)
	}
}

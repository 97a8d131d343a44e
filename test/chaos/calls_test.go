package chaos

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestCallsWithoutReasonAreSeen(t *testing.T) {
	usual := toll{rounds: 100, hints: 5, reads: 2500, changes: 40, struck: 3, due: 2000}
	tests := map[string]struct {
		change func(*toll)
		want   string
	}{
		"as usual":                  {func(*toll) {}, ""},
		"rounds that spin":          {func(t *toll) { t.rounds = 600 }, "600 rounds in 1h0m0s with 5 hints, and 500 would do"},
		"rounds after hints":        {func(t *toll) { t.rounds, t.hints = 600, 20 }, ""},
		"the same read many times":  {func(t *toll) { t.reads = 4164 }, "4164 calls that only look in 100 rounds, and 4163 would do"},
		"what went wrong, repeated": {func(t *toll) { t.reads, t.struck = 4164, 4 }, ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			day := usual
			test.change(&day)
			assert.Equal(t, test.want, day.excess(time.Hour))
		})
	}
}

func TestAWorldAtRestIsLeftAlone(t *testing.T) {
	rest := toll{rounds: 60, reads: 900, due: 900}
	assert.Empty(t, rest.idle(time.Hour, time.Minute, 0))
	spins := rest
	spins.rounds = 131
	assert.Equal(t, "131 rounds in 1h0m0s of rest, and 130 would do", spins.idle(time.Hour, time.Minute, 0))
	assert.Empty(t, spins.idle(time.Hour, time.Minute, 2), "leases are renewed")
	busy := rest
	busy.changes = 1
	assert.Equal(t, "1 changes in 1h0m0s of rest, and 0 would do", busy.idle(time.Hour, time.Minute, 0))
}

func TestATollIsCountedFromAnother(t *testing.T) {
	before, after := toll{1, 2, 3, 4, 5, 6}, toll{11, 22, 33, 44, 55, 66}
	assert.Equal(t, toll{10, 20, 30, 40, 50, 60}, after.minus(before))
}

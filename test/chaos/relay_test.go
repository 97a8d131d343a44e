package chaos

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// relayed is a day of that seed with one relay, and nothing beside it but an ambush.
func relayed(seed uint64, set nodeSet, ambushes ...ambush) day {
	const minute = time.Minute
	job := func(no, nodes int, run time.Duration) submit {
		return submit{job: no, partition: set.name, nodes: nodes, limit: 30 * minute, run: run}
	}
	script := []appointment{at(minute, job(1, 2, 12*minute))}
	for _, zone := range set.zones {
		script = append(script, at(7*minute, capacity(zone, 0, 60*minute)))
	}
	script = append(script, at(8*minute, job(2, 2, 4*minute)), at(9*minute, job(3, 1, 4*minute)))
	for _, e := range ambushes {
		script = append(script, at(9*minute, e))
	}
	for i := range script {
		script[i].no = i + 1
	}
	return day{seed, script}
}

// Whatever happens to a job that moves breaks no invariant. At which of its steps is drawn
// by the days of many seeds.
func TestAMoveStandsWhatMeetsIt(t *testing.T) {
	const keeps = 9 // a seed of a day on which machines are kept for an hour
	gang := setOf(node)
	t.Run("nothing", func(t *testing.T) {
		t.Parallel()
		o := live(t, relayed(keeps, gang))
		assert.False(t, o.failed, "%v", o.violation)
		assert.NotZero(t, o.moves.done)
		assert.Zero(t, o.moves.failed)
	})
	for i, what := range mischiefs() {
		step := moveSteps()[(i+1)%len(moveSteps())]
		t.Run(fmt.Sprintf("%s %s", step, what), func(t *testing.T) {
			t.Parallel()
			o := live(t, relayed(keeps, gang, ambush{step, what, time.Minute}))
			assert.False(t, o.failed, "%v", o.violation)
			assert.Equal(t, 1, o.moves.met, "%v", o.moves)
		})
	}
}

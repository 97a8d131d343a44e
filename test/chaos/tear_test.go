package chaos

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// tornDay is a day of that seed with one gang, which loses a machine, and nothing beside it.
func tornDay(seed uint64, how loss) day {
	script := []appointment{
		at(time.Minute, submit{job: 1, partition: "gang", nodes: 3, limit: 50 * time.Minute, run: 30 * time.Minute}),
		at(time.Minute, tear{job: 1, after: 8 * time.Minute, how: how}),
	}
	for i := range script {
		script[i].no = i + 1
	}
	return day{seed, script}
}

// A gang that loses a machine runs again on the others, and no invariant breaks. The seed is
// of a day on which gangs keep machines.
func TestAGangThatLosesAMachineRunsAgainOnTheOthers(t *testing.T) {
	const saves = 10
	for _, how := range []loss{vanishes, hostFails} {
		t.Run(string(how), func(t *testing.T) {
			t.Parallel()
			o := live(t, tornDay(saves, how))
			assert.False(t, o.failed, "%v", o.violation)
			assert.Equal(t, tearCount{gangs: 1, again: 1}, o.tears)
		})
	}
}

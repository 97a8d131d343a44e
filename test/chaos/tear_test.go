package chaos

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// tornDay returns a seed's day with one job that loses a machine, and no other event.
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

// Checks that a job that loses a machine runs again on the surviving ones without breaking an
// invariant. The seed belongs to a day on which jobs keep machines.
func TestJobRunsAgainOnItsSurvivingMachines(t *testing.T) {
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

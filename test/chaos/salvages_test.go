package chaos

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// torn is a day of that seed with one gang, which loses a machine, and nothing beside it.
func torn(seed uint64, how loss) day {
	script := []appointment{
		at(time.Minute, submit{job: 1, partition: "gang", nodes: 3, limit: 50 * time.Minute, run: 30 * time.Minute}),
		at(10*time.Minute, loseVM(1, how)),
	}
	for i := range script {
		script[i].no = i + 1
	}
	return day{seed, script}
}

// A gang that loses a machine runs again on the others, and no invariant breaks. The seed is
// of a day on which machines are held.
func TestAGangThatLosesAMachineRunsAgainOnTheOthers(t *testing.T) {
	const saves = 10
	for _, how := range []loss{vanishes, hostFails} {
		t.Run(string(how), func(t *testing.T) {
			t.Parallel()
			o := live(t, torn(saves, how))
			assert.False(t, o.failed, "%v", o.violation)
			assert.Equal(t, salvageCount{begun: 1, done: 1}, o.salvages)
		})
	}
}

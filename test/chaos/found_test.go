package chaos

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// scarce is the seed of a day with few queue positions, each kept for a quarter of an hour.
const scarce = 3

func at(time time.Duration, e event) appointment { return appointment{at: time, event: e} }

// Covers the findings of the trials of November 2026, by number. Each day once broke an
// invariant: its seed sets up the world, and its script holds the necessary events.
func TestFindingsOfTheTrialsBreakNoDay(t *testing.T) {
	const minute = time.Minute
	in := func(name string, seed uint64, script ...appointment) {
		for i := range script {
			script[i].no = i + 1
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := live(t, day{seed, script})
			assert.False(t, o.failed, "%v", o.violation)
		})
	}
	job := func(no int, partition string, nodes int) appointment {
		return at(minute, submit{job: no, partition: partition, nodes: nodes, limit: 40 * minute, run: 30 * minute})
	}
	full := func(zone string, lasts time.Duration) appointment { return at(0, capacity(zone, 0, lasts)) }
	gang, fullA, fullB := job(1, "gang", 2), full("us-central1-a", 100*minute), full("us-central1-b", 100*minute)
	const instances = "instances.list"
	in("A1: a job with a begin time in the year 11609", 1,
		at(minute, submit{job: firstEver, partition: "gang", nodes: 1, limit: time.Hour, run: time.Hour, begin: never}),
		at(2*minute, gang.event))
	in("A1: a node's row breaks off", 1, gang, at(3*minute, spoil{"show nodes", short, 0, 30 * minute}))
	in("A1: a reservation with invalid times", 1, gang, at(3*minute, spoil{"show reservations", noTime, 0, 30 * minute}))
	in("A4: one node that cannot be changed", 1, fullA, fullB, full("europe-west4-b", 100*minute), gang,
		job(2, "close", 2), at(3*minute, stubborn(node, 80*minute)),
		at(4*minute, order(1, cancel)), at(10*minute, order(2, cancel)))
	in("a node that refuses its wait Comment until a zone is dead", 1, fullA, fullB, at(2*minute, stubborn("alpha-a3-pool-3", 48*minute)),
		at(3*minute, submit{job: 1, partition: "a3-pool", nodes: 1, limit: 40 * minute, run: 30 * minute, noRequeue: true, on: "alpha-a3-pool-3"}),
		at(30*minute, deadZone("us-central1-b", 60*minute)))
	in("A5: leases that end in the year 9999", 1, gang, at(10*minute, lie(instances, endless, "", 2*minute)))
	in("A5: leases that ended in 1970", 1, gang, at(10*minute, lie(instances, overdue, "", 20*minute)))
	in("B1: machines without a group", 1, gang, at(12*minute, lie(instances, ofNobody, "", 5*minute)))
	in("B1: machines of another group", 1, gang, at(12*minute, lie(instances, ofAnother, "", 5*minute)))
	in("B2: a request that a list names twice", 1, fullA, fullB, gang,
		at(10*minute, lie("regionInstanceGroupManagerResizeRequests.list", namedTwice, "", 5*minute)))
	in("B3: pages that follow each other in a ring", 1, gang,
		at(2*minute, lie("regionInstanceGroupManagers.list", pagesInRing, "", 30*minute)))
	in("B3: a list without a last page", 1, gang, at(2*minute, lie(instances, noLastPage, "", 30*minute)))
	in("B4: late machines that the list omits", 1, full("us-central1-a", 15*minute),
		full("us-central1-b", 15*minute), gang, at(15*minute, lie(instances, leftOut, node, 90*time.Second)))
	in("B6: a machine of slurm-gcp's cluster alpha-a3", 1,
		at(minute, squat("alpha-a3-pool-1", alikes, 60*minute)), at(20*minute, cron(adopt)))
	in("B7: a stranger's machine", 6, at(minute, squat(node, byHand, 110*minute)), at(5*minute, gang.event))
	in("B10: a clock that jumps ahead while machines boot", 6, gang, at(3*minute, clockJump(24*time.Hour, 4*minute)))
	in("B10: a clock that jumps ahead while a request waits", 6, fullA, fullB, gang,
		at(8*minute, clockJump(24*time.Hour, 4*minute)))
	hopeless := func(no int) appointment {
		return at(time.Duration(no)*minute, submit{job: no, partition: "gang", nodes: 1, limit: time.Hour, run: 10 * minute, priority: 1})
	}
	in("D3: a user with hopeless jobs in all queue positions", scarce, full("us-central1-a", 119*minute), full("us-central1-b", 119*minute),
		hopeless(1), hopeless(2), hopeless(3), hopeless(4), hopeless(5),
		at(10*minute, submit{job: 6, partition: "gang", nodes: 1, limit: time.Hour, run: 10 * minute, priority: 100}))
	in("B11: a slurmctld without its state", 6, job(1, "gang", 5), job(2, "close", 4), job(3, "bulk", 3),
		at(15*minute, slurmDown(minute, emptied)))
}

package chaos

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// trial is a day that broke an invariant once: its seed gives the setup, and the
// script holds what it takes.
func trial(seed uint64, script ...appointment) day {
	for i := range script {
		script[i].no = i + 1
	}
	return day{seed, script}
}

// Each finding is of the trials of November 2026.
func TestWhatTheTrialsFoundBreaksNoDay(t *testing.T) {
	const minute = time.Minute
	gang := submit{job: 1, partition: "gang", nodes: 2, limit: 40 * minute, run: 30 * minute}
	full := func(zones ...string) (script []appointment) {
		for _, zone := range zones {
			script = append(script, appointment{at: 0, event: capacity(zone, 0, 100*minute)})
		}
		return script
	}
	tests := map[string]day{
		"A1: a job that begins in the year 11609": trial(1,
			appointment{at: minute, event: submit{job: firstEver, partition: "gang", nodes: 1, limit: time.Hour, run: time.Hour, begin: never}},
			appointment{at: 2 * minute, event: gang}),
		"A1: a node's row breaks off": trial(1,
			appointment{at: minute, event: gang}, appointment{at: 3 * minute, event: spoil{"show nodes", short, 0, 30 * minute}}),
		"A1: a reservation's times are none": trial(1,
			appointment{at: minute, event: gang}, appointment{at: 3 * minute, event: spoil{"show reservations", noTime, 0, 30 * minute}}),
		"A4: one node that cannot be changed": trial(1, append(full("us-central1-a", "us-central1-b", "europe-west4-b"),
			appointment{at: minute, event: gang}, appointment{at: minute, event: submit{job: 2, partition: "close", nodes: 2, limit: 40 * minute, run: 30 * minute}},
			appointment{at: 3 * minute, event: stubborn("alpha-gang-0", 80*minute)},
			appointment{at: 4 * minute, event: order(1, cancel)}, appointment{at: 10 * minute, event: order(2, cancel)})...),
		"A5: leases that end in the year 9999": trial(1,
			appointment{at: minute, event: gang}, appointment{at: 10 * minute, event: lie("instances.aggregatedList", endless, "", 2*minute)}),
		"A5: leases that ended in 1970": trial(1,
			appointment{at: minute, event: gang}, appointment{at: 10 * minute, event: lie("instances.aggregatedList", overdue, "", 20*minute)}),
		"B1: machines of no group": trial(1,
			appointment{at: minute, event: gang}, appointment{at: 12 * minute, event: lie("instances.aggregatedList", ofNobody, "", 5*minute)}),
		"B1: machines of another group": trial(1,
			appointment{at: minute, event: gang}, appointment{at: 12 * minute, event: lie("instances.aggregatedList", ofAnother, "", 5*minute)}),
		"B2: a request that a list names twice": trial(1, append(full("us-central1-a", "us-central1-b"),
			appointment{at: minute, event: gang}, appointment{at: 10 * minute, event: lie("regionInstanceGroupManagerResizeRequests.list", namedTwice, "", 5*minute)})...),
		"B3: pages that follow each other in a ring": trial(1,
			appointment{at: minute, event: gang}, appointment{at: 2 * minute, event: lie("regionInstanceGroupManagers.list", pagesInRing, "", 30*minute)}),
		"B3: a list without a last page": trial(1,
			appointment{at: minute, event: gang}, appointment{at: 2 * minute, event: lie("instances.aggregatedList", noLastPage, "", 30*minute)}),
		"B4: machines that come late and that the list leaves out": trial(1,
			appointment{at: 0, event: capacity("us-central1-a", 0, 15*minute)}, appointment{at: 0, event: capacity("us-central1-b", 0, 15*minute)},
			appointment{at: minute, event: gang}, appointment{at: 15 * minute, event: lie("instances.aggregatedList", leftOut, "alpha-gang-0", 90*time.Second)}),
		"B6: a machine of slurm-gcp's cluster alpha-a3": trial(1,
			appointment{at: minute, event: squat("alpha-a3-pool-1", alikes, 60*minute)},
			appointment{at: 20 * minute, event: cron(adopt)}),
		"B7: a stranger's machine": trial(6,
			appointment{at: minute, event: squat("alpha-gang-0", byHand, 110*minute)}, appointment{at: 5 * minute, event: gang}),
		"B10: a clock that jumps ahead while machines boot": trial(6,
			appointment{at: minute, event: gang}, appointment{at: 3 * minute, event: clockJump(24*time.Hour, 4*minute)}),
		"B10: a clock that jumps ahead while a request waits": trial(6, append(full("us-central1-a", "us-central1-b"),
			appointment{at: minute, event: gang}, appointment{at: 8 * minute, event: clockJump(24*time.Hour, 4*minute)})...),
		"B11: a slurmctld without its state": trial(6,
			appointment{at: minute, event: submit{job: 1, partition: "gang", nodes: 5, limit: 40 * minute, run: 30 * minute}},
			appointment{at: minute, event: submit{job: 2, partition: "close", nodes: 4, limit: 40 * minute, run: 30 * minute}},
			appointment{at: minute, event: submit{job: 3, partition: "bulk", nodes: 3, limit: 40 * minute, run: 30 * minute}},
			appointment{at: 15 * minute, event: slurmDown(minute, emptied)}),
	}
	for name, d := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := live(t, d)
			assert.False(t, o.failed, "%v", o.violation)
		})
	}
}

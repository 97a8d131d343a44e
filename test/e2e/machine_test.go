//go:build e2e

package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"slurmflex/test/lab"
)

// mute makes the machines of these nodes, and of no other nodes, run without a slurmd from now on.
func mute(t *testing.T, l *lab.Lab, nodes string) {
	t.Helper()
	require.NoError(t, l.Mute(nodes))
}

func TestUnregisteredNodesAreReturnedAndBlockTheirNodeset(t *testing.T) {
	l := cluster(t, lab.Options{Daemon: true, FlexKeys: "boot_timeout: 5, boot_failures: 1"})
	mute(t, l, ".*")
	id := submit(t, l, "-p", "train", "-N1", "--time=15")
	await(t, 2*time.Minute, "a machine", func() bool { return len(state(t, l).Instances) > 0 })
	await(t, 2*time.Minute, "the machine to be gone", func() bool { return len(state(t, l).Instances) == 0 })
	next := submit(t, l, "-p", "train", "-N1", "--time=15")
	awaitTold(t, l, 2*time.Minute, next, `nodeset a3 is blocked .*; ask an admin`)
	slurmflex(t, l, "unblock", "a3")
	awaitRequest(t, l, "alpha-a3-job-"+next)
	cancelForGood(t, l, id, next)
}

func TestIdleStaticNodeIsRenewedEarly(t *testing.T) {
	l := cluster(t, lab.Options{Daemon: true, Static: 1, FlexKeys: "renew_before: 300"})
	awaitUp(t, l, "alpha-st-0")
	first, _ := state(t, l).Instance("alpha-st-0")
	end := time.Now().Add(4 * time.Minute)
	endLease(t, l, "alpha-st-0", time.Until(end))
	await(t, 150*time.Second, first.Name+" to be back on another machine", func() bool {
		now, ok := state(t, l).Instance(first.Name)
		return ok && now.Created.After(first.Created) && nodeState(t, l, first.Name) == "IDLE+CLOUD"
	})
	assert.True(t, time.Now().Before(end), "before the old lease would have ended")
}

func TestJobLongerThanTheLeaseIsNotStarted(t *testing.T) {
	l := withDaemon(t)
	update(t, l, "nodename=alpha-g2-0", "state=power_up")
	awaitUp(t, l, "alpha-g2-0")
	awaitReservation(t, l, "alpha-g2-0")
	long := submit(t, l, "-p", "open", "-w", "alpha-g2-0", "--time=60")
	short := submit(t, l, "-p", "open", "-w", "alpha-g2-0", "--time=10")
	awaitCompleted(t, l, short)
	assertPending(t, l, long)
	cancel(t, l, long)
	update(t, l, "nodename=alpha-g2-0", "state=power_down_force")
	awaitNothingLeft(t, l)
	await(t, time.Minute, "the reservation to go", func() bool {
		return !strings.Contains(ask(t, l, "scontrol", "show", "reservation", "-o"), "slurmflex-alpha-")
	})
}

func TestRunningJobIsLeftAloneNearTheEndOfItsLease(t *testing.T) {
	l := withDaemon(t)
	over := filepath.Join(l.Dir, "over")
	id := submitScript(t, l, "until [ -e "+over+" ]; do sleep 1; done", "-p", "fixed", "-w", "alpha-g2-0", "--time=30")
	awaitRunning(t, l, id)
	// Reservations start with the minute in which a lease ends.
	minute := time.Now().Add(75 * time.Second).Truncate(time.Minute)
	endLease(t, l, "alpha-g2-0", time.Until(minute.Add(50*time.Second)))
	awaitReservation(t, l, "alpha-g2-0")
	await(t, 100*time.Second, "the reservation to start", func() bool {
		return strings.Contains(nodeState(t, l, "alpha-g2-0"), "MAINTENANCE")
	})
	awaitPasses(t, l, 2)
	assert.Equal(t, "RUNNING", jobField(t, l, id, "JobState"))
	require.NoError(t, os.WriteFile(over, nil, 0o644))
	awaitDone(t, l, id)
}

func TestJobThatOutlivesItsLeaseIsWarnedAndContinuesElsewhere(t *testing.T) {
	l := withDaemon(t,
		lab.NodeSet{Name: "leased", Machine: "g2-standard-4", Size: 1, FlexKeys: "max_run_duration: 3600, on_lease_end: requeue, lease_end_warning: 600"})
	story := filepath.Join(l.Dir, "story")
	id := submitScript(t, l, "trap 'echo saves its work >>"+story+"' USR1\n"+
		"echo run $SLURM_RESTART_COUNT >>"+story+"\nwhile true; do sleep 1; done", "-p", "leased", "-N1", "--time=30-00:00:00", "--comment=slurmflex:signal")
	awaitRunning(t, l, id)
	first, _ := state(t, l).Instance("alpha-leased-0")

	endLease(t, l, "alpha-leased-0", 2*time.Minute)
	awaitTold(t, l, time.Minute, id, " with USR1")
	awaitTold(t, l, time.Minute, id, "requeued: the lease of its nodes ends at ")
	awaitJob(t, l, 2*time.Minute, id, "JobState", "PENDING")
	update(t, l, "jobid="+id, "starttime=now") // Slurm waits for two minutes
	awaitRunning(t, l, id)
	second, _ := state(t, l).Instance("alpha-leased-0")
	assert.True(t, second.Created.After(first.Created))
	awaitShown(t, time.Minute, "its script to run again", func() (string, bool) {
		told := readFile(story)
		return told, told == "run\nsaves its work\nrun 1\n"
	})
	cancelForGood(t, l, id)
}

// endLease makes the lease of a node's machine end after left.
func endLease(t *testing.T, l *lab.Lab, node string, left time.Duration) {
	t.Helper()
	tell(t, l, "vms/"+node+"/lease", map[string]string{"left": left.String()})
}

// awaitReservation waits until our reservation keeps jobs off a node from the minute in which its
// machine's lease ends.
func awaitReservation(t *testing.T, l *lab.Lab, node string) {
	t.Helper()
	vm, _ := state(t, l).Instance(node)
	awaitReservedFrom(t, l, node, vm.Terminates)
}

// awaitReservedFrom waits until our reservation keeps jobs off a node from the minute of the given
// time.
func awaitReservedFrom(t *testing.T, l *lab.Lab, node string, from time.Time) {
	t.Helper()
	start := from.Truncate(time.Minute).UTC().Format("2006-01-02T15:04:05")
	awaitShown(t, time.Minute, "a reservation of "+node+" from "+start, func() (string, bool) {
		all := ask(t, l, "scontrol", "show", "reservation", "-o")
		for line := range strings.Lines(all) {
			if strings.Contains(line, "ReservationName=slurmflex-alpha-") && strings.Contains(line, "Nodes="+node+" ") &&
				strings.Contains(line, "StartTime="+start) {
				return line, true
			}
		}
		return all, false
	})
}

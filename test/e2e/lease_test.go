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

	"slurmflex/test/fakegce"
	"slurmflex/test/lab"
)

func TestAStaticNodeIsPoweredUpAndGetsANewLeaseWhenItsOldOneEnds(t *testing.T) {
	l := cluster(t, lab.Options{Daemon: true, Static: 1})
	awaitUp(t, l, "alpha-st-0")
	first, _ := state(t, l).Instance("alpha-st-0")
	tell(t, l, "advance", map[string]string{"duration": "61m"})
	awaitAnotherMachine(t, l, first)
}

func TestAStaticNodeThatIsIdleShortlyBeforeItsLeaseEndsIsRenewedEarly(t *testing.T) {
	l := cluster(t, lab.Options{Daemon: true, Static: 1, FlexKeys: "renew_before: 300"})
	awaitUp(t, l, "alpha-st-0")
	first, _ := state(t, l).Instance("alpha-st-0")
	end := time.Now().Add(4 * time.Minute)
	endLease(t, l, "alpha-st-0", time.Until(end))
	awaitAnotherMachine(t, l, first)
	assert.True(t, time.Now().Before(end), "before the old lease would have ended")
}

func TestAJobThatWouldOutliveTheLeaseIsNotStartedOnTheNode(t *testing.T) {
	l := cluster(t, lab.Options{Daemon: true})
	update(t, l, "nodename=alpha-g2-0", "state=power_up")
	awaitUp(t, l, "alpha-g2-0")
	awaitReservation(t, l, "alpha-g2-0")
	long := submit(t, l, "-p", "open", "-w", "alpha-g2-0", "--time=60")
	short := submit(t, l, "-p", "open", "-w", "alpha-g2-0", "--time=10")
	awaitCompleted(t, l, short)
	assert.Equal(t, "PENDING", jobField(t, l, long, "JobState"))
	cancel(t, l, long)
	update(t, l, "nodename=alpha-g2-0", "state=power_down_force")
	awaitNothingLeft(t, l)
	await(t, 20*time.Second, "the reservation to go", func() bool {
		return !strings.Contains(ask(t, l, "scontrol", "show", "reservation", "-o"), "slurmflex-alpha-")
	})
}

func TestAJobThatRunsWhenTheEndOfItsLeaseComesIsLeftAlone(t *testing.T) {
	l := cluster(t, lab.Options{Daemon: true})
	over := filepath.Join(l.Dir, "over")
	id := submitScript(t, l, "until [ -e "+over+" ]; do sleep 1; done", "-p", "fixed", "-w", "alpha-g2-0", "--time=30")
	awaitJob(t, l, 90*time.Second, id, "JobState", "RUNNING")
	// Reservations begin with the minute in which a lease ends.
	minute := time.Now().Add(75 * time.Second).Truncate(time.Minute)
	endLease(t, l, "alpha-g2-0", time.Until(minute.Add(50*time.Second)))
	awaitReservation(t, l, "alpha-g2-0")
	await(t, 100*time.Second, "the reservation to begin", func() bool {
		return strings.Contains(nodeState(t, l, "alpha-g2-0"), "MAINTENANCE")
	})
	awaitPasses(t, l, 2)
	assert.Equal(t, "RUNNING", jobField(t, l, id, "JobState"))
	require.NoError(t, os.WriteFile(over, nil, 0o644))
	awaitDoneAtOnce(t, l, id)
}

// awaitAnotherMachine waits until a node is up again, on another machine.
func awaitAnotherMachine(t *testing.T, l *lab.Lab, first fakegce.Instance) {
	t.Helper()
	await(t, 150*time.Second, first.Name+" to be back on another machine", func() bool {
		now, ok := state(t, l).Instance(first.Name)
		return ok && now.Created.After(first.Created) && nodeState(t, l, first.Name) == "IDLE+CLOUD"
	})
}

// endLease has the lease of a machine end after left.
func endLease(t *testing.T, l *lab.Lab, node string, left time.Duration) {
	t.Helper()
	tell(t, l, "vms/"+node+"/lease", map[string]string{"left": left.String()})
}

// awaitReservation waits until a reservation of ours keeps jobs off a node from
// the minute on in which its machine's lease ends.
func awaitReservation(t *testing.T, l *lab.Lab, node string) {
	t.Helper()
	vm, _ := state(t, l).Instance(node)
	start := vm.Terminates.Truncate(time.Minute).UTC().Format("2006-01-02T15:04:05")
	awaitShown(t, 30*time.Second, "a reservation of "+node+" from "+start, func() (string, bool) {
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

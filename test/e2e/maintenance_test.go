//go:build e2e

package e2e

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// An admin reserves all nodes 40 minutes ahead, then at once, and deletes the reservation early.
func TestJobsWaitPendingBeforeAndAfterMaintenance(t *testing.T) {
	l := withDaemon(t)
	const reservation = "reservationname=window"
	nodes := strings.TrimSpace(run(t, l, "sinfo", "-h", "-p", "train", "-o", "%N"))
	state := func(id string) string { return strings.TrimSpace(run(t, l, "squeue", "-h", "-j", id, "-o", "%T")) }
	submit(t, l, "-p", "train", "-N1", "--time=10") // slurmflex has closed the nodes
	run(t, l, "scontrol", "create", "reservation", reservation, "nodes="+nodes, "starttime=now+40minutes", "duration=60", "users=root", "flags=maint")
	shut(t, l)
	awaitPasses(t, l, 2)
	long := submit(t, l, "-p", "train", "-N1", "--time=60")
	short := submit(t, l, "-p", "train", "-N1", "--time=10")
	awaitWhy(t, l, short, "QUEUED at Google")
	assert.Equal(t, "PENDING", state(short))
	awaitWhy(t, l, long, "is reserved for others before it would end: from ")
	assert.Equal(t, "PENDING", state(long))
	capacity(t, l, "", 8)
	awaitCompleted(t, l, short)

	for _, flags := range []string{"maint,ignore_jobs", "overlap,ignore_jobs"} {
		run(t, l, "scontrol", "delete", "reservation", "window")
		run(t, l, "scontrol", "create", "reservation", reservation, "nodes="+nodes, "starttime=now", "duration=60", "users=root", "flags="+flags)
		awaitWhy(t, l, long, "is reserved for others until ")
		admin := submit(t, l, "-p", "train", "-N1", "--time=10", "--reservation=window")
		awaitCompleted(t, l, admin)
		assert.Equal(t, "PENDING", state(long))
	}
	shut(t, l)
	run(t, l, "scontrol", "delete", "reservation", "window")
	awaitWhy(t, l, long, "QUEUED at Google")
	assert.Equal(t, "PENDING", state(long))
	capacity(t, l, "", 8)
	awaitCompleted(t, l, long)
}

//go:build e2e

package e2e

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"slurmflex/test/lab"
)

// slurmctld starts without its state file of reservations, and Slurm ignores the jobs that name one.
func TestWaitingJobsKeepTheirRequestsWithoutSlurmsReservations(t *testing.T) {
	l := withDaemon(t)
	shut(t, l)
	id := submitScript(t, l, "sleep 1000", "-p", "train", "-N2", "--time=15")
	array := submitScript(t, l, "sleep 1000", "-p", "train", "-N1", "--time=15", "--array=0-1")
	first := awaitRequestState(t, l, "alpha-a3-job-"+id, "a1", "ACCEPTED")
	uses := func() string { return ask(t, l, "squeue", "-h", "-r", "-j", id+","+array, "-o", "%v") }
	awaitShown(t, time.Minute, "reservations of all jobs", func() (string, bool) { return uses(), strings.Count(uses(), ".door-") == 3 })
	lost := strings.Fields(uses())
	run(t, l, "scontrol", "shutdown", "slurmctld")
	require.NoError(t, lab.Until(context.Background(), time.Minute, "slurmctld to have ended", func() (bool, error) {
		_, err := os.Stat(filepath.Join(l.Dir, "state/ctld.pid"))
		return os.IsNotExist(err), nil
	}))
	for _, name := range []string{"resv_state", "resv_state.old"} {
		require.NoError(t, os.Remove(filepath.Join(l.Dir, "state", name)))
	}
	run(t, l, "slurmctld")
	awaitShown(t, 2*time.Minute, "new reservations of all jobs", func() (string, bool) {
		now := uses()
		return now, strings.Count(now, ".door-") == 3 && !strings.Contains(now, lost[0]) && !strings.Contains(now, lost[1]) && !strings.Contains(now, lost[2])
	})
	assert.Equal(t, first, awaitRequestState(t, l, "alpha-a3-job-"+id, "a1", "ACCEPTED"), "its place in Google's queue")
	cancelForGood(t, l, id, array)
}

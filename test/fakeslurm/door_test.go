package fakeslurm

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// door reserves nodes for one job, starting after this many seconds.
func (w *world) door(name, nodes string, seconds int) {
	w.t.Helper()
	w.scontrol(doorText(name, nodes, seconds))
}

func doorText(name, nodes string, seconds int) string {
	return fmt.Sprintf("create reservation reservationname=%s nodes=%s starttime=now+%d duration=infinite users=root flags=overlap,no_hold_jobs_after", name, nodes, seconds)
}

// behindCover returns a world with nodes a0 to a3 closed.
func behindCover(t *testing.T, version string, change ...func(*Options)) *world {
	w := newWorld(t, version, change...)
	w.cover("C", "a[0-3]")
	return w
}

// gang returns a one-hour job on this many nodes.
func gang(nodes int) JobSpec {
	return JobSpec{Partition: "train", Nodes: nodes, Limit: time.Hour, Run: 10 * time.Minute}
}

func TestCrashLosesWhatWasNotSaved(t *testing.T) {
	w := behindCover(t, "24.11")
	id := w.submit(gang(1))
	named := func(doorAgo, nameAgo time.Duration) (door, name bool) {
		w.door("H", "a0", 900)
		w.pass(doorAgo - nameAgo)
		w.scontrol(fmt.Sprintf("update jobid=%d reservationname=H", id))
		w.pass(nameAgo)
		w.Crash(4500 * time.Millisecond)
		door, name = w.reservation("H") != nil, w.JobReservation(id) == "H"
		require.NoError(t, w.SetJobReservation(t.Context(), id, ""))
		if door {
			w.scontrol("delete reservationname=H")
		}
		return door, name
	}
	for _, test := range []struct {
		doorAgo, nameAgo time.Duration
		door, name       bool
	}{
		{9 * time.Second, 6 * time.Second, true, true}, {9 * time.Second, 3 * time.Second, true, false}, {3 * time.Second, 2 * time.Second, false, false},
	} {
		door, name := named(test.doorAgo, test.nameAgo)
		require.Equal(t, []bool{test.door, test.name}, []bool{door, name}, "door %s, name %s ago", test.doorAgo, test.nameAgo)
	}
	require.NotNil(t, w.reservation("C"))
}

package plan_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"slurmflex/flex/plan/scene"
	"slurmflex/slurm"
	"slurmflex/test/scenetest"
)

// newUnasked returns a cluster of four covered nodes. Job 7 waits for two of them, without a door.
func newUnasked() waitingPending { return unaskedIn(4) }

func unaskedIn(size int) waitingPending {
	w := waitingPendingIn(size)
	w.doorless()
	w.offDoor()
	return w
}

// A refused door proves nothing about the nodes, because the job never had machines.
func TestArrayGetsItsDoorsAgainAfterRefusals(t *testing.T) {
	w := unaskedIn(100)
	w.job().ArrayTask, w.job().NodeCount = "1-100", 1
	w.Snap.Late = map[uint32]scene.Late{7: {Until: noon.Add(time.Second), Refused: "Requested nodes are busy"}}
	assert.Empty(t, w.inSlurm())
	w.Snap.Late = map[uint32]scene.Late{7: {Until: noon, Refused: "Requested nodes are busy"}}
	assert.Equal(t, 100, strings.Count(w.inSlurm(), "reserve "))
}

// squeue shows the most nodes that a job accepts, or an estimate from the CPUs of one of its partitions.
func TestFurtherTasksGetAsManyNodesAsSlurmHasPlanned(t *testing.T) {
	w := unaskedIn(100)
	w.job().ArrayTask, w.job().NodeCount, w.job().Planned = "1-2", 1, []string{"alpha-a3-0", "alpha-a3-1"}
	assert.Contains(t, w.inSlurm(), "reserve alpha-a3-[0-1] from 2026-11-21T12:15:00Z\n")
	assert.Contains(t, w.inSlurm(), "reserve alpha-a3-[2-3] from 2026-11-21T12:15:00Z\n")
}

func TestEachTaskThatAsksForSwitchesNeedsItsOwnPlan(t *testing.T) {
	w := unaskedIn(100)
	w.job().ArrayTask = "1-9"
	w.charged(slurm.Charge{ByPosition: true})
	assert.Equal(t, 1, strings.Count(w.inSlurm(), "reserve "), w.inSlurm())
}

// squeue shows the plan of an array's last task, or that of its record where another task has one of its own.
func TestTaskThatIsPlannedBehindOthersOfItsArrayGetsTheirNodes(t *testing.T) {
	for name, test := range map[string]struct {
		given func(w *waitingPending)
		want  int
	}{
		"it asks for a node":             {func(w *waitingPending) { w.job().Needs = scenetest.Names("alpha-a3-0") }, 1},
		"it asks for some of four nodes": {func(w *waitingPending) { w.job().Needs = scenetest.Names("alpha-a3-[0-3]") }, 1},
		"it asks for a switch":           {func(w *waitingPending) { w.charged(slurm.Charge{ByPosition: true}) }, 1},
		"it asks for any two nodes":      {func(*waitingPending) {}, 2},
		"another job is planned on them": {func(w *waitingPending) {
			w.job().Needs = scenetest.Names("alpha-a3-0")
			other := w.another(9)
			other.ArrayTask, other.NodeCount, other.Planned, other.Start = "", 1, scenetest.Names("alpha-a3-0"), endOf(coverName)
		}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			w := newUnasked()
			w.job().ArrayTask, w.job().Planned, w.job().Start = "1-3", scenetest.Names("alpha-a3-[0-1]"), noon.Add(25*time.Hour)
			test.given(&w)
			got := w.inSlurm()
			assert.Equal(t, test.want, strings.Count(got, "reserve "), got)
			assert.Equal(t, name == "another job is planned on them", strings.Contains(got, "have job 9"), got)
		})
	}
}

func TestJobThatSlurmDoesNotPlanIsAProblemAfterFiveMinutes(t *testing.T) {
	for waited, want := range map[time.Duration]int{4 * time.Minute: 0, 5 * time.Minute: 1} {
		w := newUnasked()
		w.job().Needs, w.job().Planned = scenetest.Names("alpha-a3-2"), scenetest.Names("alpha-a3-[0-1]")
		w.Snap.Unasked = map[uint32]time.Time{7: noon.Add(-waited)}
		problems := w.plan().Problems
		assert.Len(t, problems, want, waited)
	}
}

func TestWaitExplainsEachNodeThatNoJobHas(t *testing.T) {
	limit := func(limit time.Duration) func(w waitingPending) {
		return func(w waitingPending) { w.job().Limit.Duration = limit }
	}
	for want, given := range map[string]func(w waitingPending){
		"4 with idle machines whose lease ends before it would": limit(5 * time.Hour),
		"4 with idle machines, which start no job of more than 23:00:00 (bf_window)": func(w waitingPending) {
			w.job().Limit.Duration = 24 * time.Hour
			for i := range w.Snap.Instances {
				w.Snap.Instances[i].Terminates = noon.Add(72 * time.Hour)
			}
		},
		"3 with idle machines, 1 reserved for others": func(w waitingPending) { w.reserve("adm", 10*time.Minute, "alpha-a3-0", "SPEC_NODES") },
		"3 with idle machines, 1 being powered down":  func(w waitingPending) { w.Nodes("alpha-a3-0", "IDLE+CLOUD+POWERING_DOWN") },
		"3 with idle machines, 1 out of service":      func(w waitingPending) { w.Nodes("alpha-a3-0", "IDLE+CLOUD+DRAIN") },
		"3 with idle machines, 1 excluded by the job": func(w waitingPending) { w.job().Excludes = scenetest.Names("alpha-a3-0") },
		"2 with idle machines, 2 without what it requests": func(w waitingPending) {
			w.job().Features = "big"
			for i := range w.Snap.Nodes {
				if i >= 2 {
					w.Snap.Nodes[i].Features = []string{"big"}
				}
			}
		},
		"4 with idle machines": limit(2 * time.Hour),
	} {
		w := unaskedIn(5)
		w.keep()
		w.up("alpha-a3-[0-3]")
		w.Snap.Reservations[0].Nodes = []string{"alpha-a3-4"}
		given(w)
		held := w.plan().Held
		require.Len(t, held, 1)
		assert.Equal(t, "needs 2 nodes; 1 of nodeset a3 is free, "+want, held[0].Obstacle)
	}
}

// Free nodes that the job cannot use are no reason to wait for Slurm's plan, and none to call it stuck.
func TestJobWithoutFreeNodesThatFitIsNotStuck(t *testing.T) {
	w := newUnasked()
	w.job().Excludes, w.Snap.Unasked = scenetest.Names("alpha-a3-[1-3]"), map[uint32]time.Time{7: noon.Add(-time.Hour)}
	p := w.plan()
	assert.Empty(t, p.Problems)
	require.Len(t, p.Held, 1)
	assert.Equal(t, "needs 2 nodes; 1 of nodeset a3 is free, 3 excluded by the job", p.Held[0].Obstacle)
}

func TestCoverIsOffWithoutSlurmsPlans(t *testing.T) {
	w := newUnasked()
	w.Snap.Unplanned = "Slurm preempts jobs"
	assert.Equal(t, "delete reservation COVER", w.onCovers())
}

func TestAbandonedCoverIsReportedAndDeletedAfterAnHour(t *testing.T) {
	for name, test := range map[string]struct {
		raised time.Duration // ago
		named  bool
		want   string
	}{
		"raised lately":    {raised: 2 * time.Minute},
		"for four minutes": {raised: 4 * time.Minute, named: true},
		"for an hour":      {raised: 61 * time.Minute, named: true, want: "delete reservation COVER"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newUnasked()
			w.Snap.Jobs, w.Snap.Promises = nil, false
			cover := &w.Snap.Reservations[0]
			cover.Start, cover.Flags[0] = noon.Add(-2*time.Hour), "PURGE_COMP="+(slurm.Limit{Kind: slurm.LimitSet, Duration: 2*time.Hour - test.raised + 7*time.Minute}).String()
			assert.Equal(t, test.want, w.onCovers())
			problems := w.plan().Problems
			assert.Equal(t, test.named, len(problems) == 1)
			if test.named { // 30 s is the interval: a daemon may have made passes until then
				assert.Contains(t, problems[0].Text, "no daemon has kept it up since "+noon.Add(-test.raised+3*time.Minute+30*time.Second).Format("15:04:05"))
			}
		})
	}
}

func TestNodesThatAMoreImportantJobNamesAreKeptUntilSlurmPlansIt(t *testing.T) {
	for waited, served := range map[time.Duration]bool{0: false, 3 * time.Minute: true} {
		w := newUnasked()
		names := w.another(9)
		names.ArrayTask, names.Priority, names.NodeCount, names.Needs = "", w.job().Priority+1, 2, scenetest.Names("alpha-a3-[0-1]")
		names.Planned, names.Start = scenetest.Names("alpha-a3-2"), noon.Add(25*time.Hour)
		w.job().Planned, w.job().Start = scenetest.Names("alpha-a3-[1-2]"), endOf(coverName)
		w.Snap.Unasked = map[uint32]time.Time{9: noon.Add(-waited)}
		got := w.inSlurm()
		assert.Equal(t, served, strings.Contains(got, "have job 7 use"), got)
	}
}

func TestJobLeavesTheRequestThatItHasWaitedForTooLong(t *testing.T) {
	const again = "flex-start: machines requested again at "
	for told, cancelled := range map[string]bool{"": false, again + "2026-11-21T11:59:58Z: no capacity": true, again + "2026-11-21T10:59:58Z: no capacity": false} {
		w := newUnasked()
		w.Requested(7, "alpha-a3-[0-1]", time.Hour)
		w.Snap.Told = map[uint32]string{7: told}
		assert.Equal(t, cancelled, strings.Contains(w.inCompute(), "cancel request"), told)
	}
}

// No cover closes nodes that others have reserved, so Slurm plans jobs there for the reservation's end.
func TestJobThatSlurmPlansOnNodesReservedForOthersGetsFreeNodes(t *testing.T) {
	for lasts, served := range map[time.Duration]bool{12 * time.Hour: true, 48 * time.Hour: false} {
		w := newUnasked()
		w.Snap.Partitions[0].MaxTime.Kind = slurm.Unlimited
		w.window(-time.Hour, lasts, "alpha-a3-[0-1]", "SPEC_NODES")
		w.job().Planned, w.job().Start = scenetest.Names("alpha-a3-[0-1]"), noon.Add(lasts)
		got := w.inSlurm()
		assert.Equal(t, served, strings.Contains(got, "reserve alpha-a3-[2-3] from"), got)
	}
}

// The more important job would not end before others use the nodes, so no node is kept for it there.
func TestNodesReservedBeforeAMoreImportantJobWouldEndAreNotKeptForIt(t *testing.T) {
	for name, test := range map[string]struct {
		planned string
		later   bool
	}{
		"planned there":         {"alpha-a3-[0-1]", false},
		"planned elsewhere too": {"alpha-a3-[1,3]", false},
		"planned for later":     {"alpha-a3-[0,3]", true},
	} {
		t.Run(name, func(t *testing.T) {
			w := newUnasked()
			w.Snap.Partitions[0].MaxTime.Kind = slurm.Unlimited
			w.window(40*time.Minute, 2*time.Hour, "alpha-a3-[0-1]", "MAINT")
			w.Snap.Jobs = append(w.Snap.Jobs, slurm.Job{ID: 10, State: slurm.JobRunning, Partition: "train", User: "ann", Nodes: []string{"alpha-a3-2"}})
			w.Snap.Nodes[2].State = slurm.ParseState("ALLOCATED+CLOUD")
			long := w.another(9)
			long.Priority, long.Planned = w.job().Priority+1, scenetest.Names("alpha-a3-[0-1]")
			w.job().Limit.Duration, w.job().Planned = 10*time.Minute, scenetest.Names(test.planned)
			if test.later {
				w.job().Start = noon.Add(25 * time.Hour)
			}
			got := w.inSlurm()
			assert.Contains(t, got, "reserve alpha-a3-[0-1] from")
			assert.NotContains(t, got, "have job 9 use")
		})
	}
}

// Slurm plans no job for the horizon that would not end before others use the nodes, although it would if
// it started now.
func TestJobThatSlurmCannotPlanBeforeALaterReservationGetsFreeNodes(t *testing.T) {
	w := newUnasked()
	w.Snap.Partitions[0].MaxTime.Kind = slurm.Unlimited
	w.window(24*time.Hour, 26*time.Hour, "alpha-a3-[0-3]", "MAINT")
	w.job().Planned, w.job().Start, w.job().Limit.Duration = nil, time.Time{}, 10*time.Hour
	w.Snap.Unasked = map[uint32]time.Time{7: noon.Add(-3 * time.Minute)}
	assert.Contains(t, w.inSlurm(), "have job 7 use")
	w.job().Limit.Duration = 25 * time.Hour
	assert.NotContains(t, w.inSlurm(), "have job 7 use")
}

func TestJobGetsNodesOfAnotherPartitionIfOthersReserveThePlannedOnes(t *testing.T) {
	for starts, door := range map[time.Duration]string{40 * time.Minute: "alpha-eu-[0-1]", 90 * time.Minute: "alpha-us-[0-1]"} {
		w := newSeveralPlaces()
		w.window(starts, 3*time.Hour, "alpha-us-[0-1]", "MAINT")
		w.job().Planned = scenetest.Names("alpha-us-[0-1]")
		assert.Contains(t, w.reservations(), "reserve "+door+" from")
	}
}

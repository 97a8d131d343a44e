package plan_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"slurmflex/flex/plan"
	"slurmflex/flex/plan/scene"
	"slurmflex/slurm"
	"slurmflex/test/scenetest"
)

// newUnasked returns a cluster of four covered nodes. Job 7 waits for two of them, without a door.
func newUnasked() waitingPending {
	w := newWaitingPending()
	w.Snap.Reservations = w.Snap.Reservations[:1]
	w.job().Reservation, w.job().Reason = "", "ReqNodeNotAvail, May be reserved for other job"
	return w
}

// newHundred returns a cluster of 100 covered nodes without doors. Job 7 waits for two of them.
func newHundred() waitingPending {
	w := waitingPendingIn("node_count_dynamic_max: 100")
	w.Nodes("alpha-a3-[4-99]", scenetest.PoweredDown)
	w.Snap.Reservations = w.Snap.Reservations[:1]
	w.Snap.Reservations[0].Nodes = scenetest.Names("alpha-a3-[0-99]")
	w.Snap.Partitions[0].Nodes = scenetest.Names("alpha-a3-[0-99]")
	w.job().Reservation, w.job().Reason = "", "Resources"
	return w
}

// A refused door proves nothing about the nodes, because the job never had machines.
func TestArrayGetsItsDoorsAgainAfterRefusals(t *testing.T) {
	w := newHundred()
	w.job().ArrayTask, w.job().NodeCount = "1-100", 1
	w.Snap.Late = map[uint32]scene.Late{7: {Until: noon.Add(time.Second), Refused: "Requested nodes are busy"}}
	assert.Empty(t, w.inSlurm())
	w.Snap.Late = map[uint32]scene.Late{7: {Until: noon, Refused: "Requested nodes are busy"}}
	assert.Equal(t, 100, strings.Count(w.inSlurm(), "reserve "))
}

// squeue shows the most nodes that a job accepts, or an estimate from the CPUs of one of its partitions.
func TestFurtherTasksGetAsManyNodesAsSlurmHasPlanned(t *testing.T) {
	w := newHundred()
	w.job().ArrayTask, w.job().NodeCount, w.job().Planned = "1-2", 1, []string{"alpha-a3-0", "alpha-a3-1"}
	assert.Contains(t, w.inSlurm(), "reserve alpha-a3-[0-1] from 2026-11-21T12:15:00Z\n")
	assert.Contains(t, w.inSlurm(), "reserve alpha-a3-[2-3] from 2026-11-21T12:15:00Z\n")
}

func TestEachTaskThatAsksForSwitchesNeedsItsOwnPlan(t *testing.T) {
	w := newHundred()
	w.job().ArrayTask = "1-9"
	w.Snap.Allowances.Charges = map[uint32]slurm.Charge{7: {ByPosition: true}}
	assert.Equal(t, 1, strings.Count(w.inSlurm(), "reserve "), w.inSlurm())
}

func TestJobsGetTheirDoorsAgainOnceSlurmctldKnowsTheirUser(t *testing.T) {
	w := newHundred()
	w.Snap.Late = map[uint32]scene.Late{}
	for id := uint32(7); id < 17; id++ {
		if id > 7 {
			j := *w.job()
			j.ID, j.ArrayID = id, id
			w.Snap.Jobs = append(w.Snap.Jobs, j)
			w.Snap.Requeues[id] = true
		}
		w.Snap.Late[id] = scene.Late{Until: noon, Unknown: true}
	}
	assert.Equal(t, 10, strings.Count(w.inSlurm(), "reserve "), w.inSlurm())
	assert.Empty(t, plan.Compute(w.Scene()).Held)
}

func TestPlanNamesWhyAJobHasNoRequest(t *testing.T) {
	for name, test := range map[string]struct {
		given    func(w waitingPending)
		want     string
		unknown  bool // the reason should not last
		unlisted bool
	}{
		"Slurm has planned it":        {given: func(waitingPending) {}, unlisted: true},
		"it has a door":               {given: func(w waitingPending) { w.reserve(doorName, time.Minute, "alpha-a3-[0-1]", "") }, unlisted: true},
		"it waits for something else": {given: func(w waitingPending) { w.job().Reason = "Licenses" }, unlisted: true},
		"too few nodes":               {given: func(w waitingPending) { w.job().NodeCount = 5 }, want: "needs 5 nodes; 4 of nodeset a3 are free"},
		"its array runs as many tasks as its owner allows": {given: func(w waitingPending) {
			w.job().ArrayTask, w.job().Planned = "2-5%1", nil
			task := *w.job()
			task.ID, task.ArrayTask, task.State, task.Nodes, task.Reservation = 8, "1", slurm.JobRunning, []string{"cpu-1"}, ""
			w.Snap.Jobs = append(w.Snap.Jobs, task)
		}, want: "its own limit %1 (JobArrayTaskLimit)"},
		"Slurm plans it on nodes that become free": {given: func(w waitingPending) {
			w.job().Planned, w.job().Start = scenetest.Names("alpha-a3-[0-1]"), noon.Add(48*time.Hour)
		}, want: "Slurm has planned it for 2026-11-23T12:00:00Z on alpha-a3-[0-1]"},
		"Slurm has planned it elsewhere": {given: func(w waitingPending) {
			w.job().Planned, w.job().Start = []string{"cpu-1", "cpu-2"}, noon.Add(time.Hour)
		}, want: "Slurm has planned it for 2026-11-21T13:00:00Z on cpu-[1-2]"},
		"no plan": {given: func(w waitingPending) { w.job().User = "" }, unlisted: true},
		"a plan of before it was changed": {given: func(w waitingPending) {
			w.job().Planned, w.job().Start, w.job().Excludes = scenetest.Names("alpha-a3-[0-1]"), noon.Add(23*time.Hour), "alpha-a3-0"
		}, want: "Slurm has not planned it yet", unknown: true},
	} {
		t.Run(name, func(t *testing.T) {
			w := newUnasked()
			test.given(w)
			p := plan.Compute(w.Scene())
			if test.unlisted {
				assert.Empty(t, p.Held)
				return
			}
			if assert.Len(t, p.Held, 1) {
				assert.Equal(t, test.want, p.Held[0].Obstacle)
				assert.Equal(t, test.unknown, !p.Held[0].Since.IsZero())
			}
		})
	}
}

func TestCoverIsOffIfSlurmPreempts(t *testing.T) {
	w := newUnasked()
	w.Snap.Preempts = true
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
			assert.Equal(t, test.named, len(plan.Compute(w.Scene()).Problems) == 1)
		})
	}
}

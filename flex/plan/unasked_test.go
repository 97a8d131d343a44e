package plan_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"slurmflex/flex/plan"
	"slurmflex/flex/plan/action"
	"slurmflex/flex/plan/demand"
	"slurmflex/flex/plan/memo"
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

func TestPlanNamesWhyAJobHasNoRequest(t *testing.T) {
	for name, test := range map[string]struct {
		given    func(w waitingPending)
		want     string
		unknown  bool // the reason should not last
		unlisted bool
	}{
		"they are":                      {given: func(waitingPending) {}, unlisted: true},
		"it has a door":                 {given: func(w waitingPending) { w.reserve(doorName, time.Minute, "alpha-a3-[0-1]", "") }, unlisted: true},
		"it waits for something else":   {given: func(w waitingPending) { w.job().Reason = "Licenses" }, unlisted: true},
		"too few names":                 {given: func(w waitingPending) { w.job().NodeCount = 5 }, want: "it needs 5 nodes, and 4 of nodeset a3 are free"},
		"too few that are not excluded": {given: func(w waitingPending) { w.job().Excludes = "alpha-a3-[0-2]" }, want: "it needs 2 nodes, and 1 of nodeset a3 are free"},
		"a node that is down": {given: func(w waitingPending) {
			w.job().Needs = "alpha-a3-[2-3]"
			w.Nodes("alpha-a3-3", "DOWN+CLOUD+POWERED_DOWN")
		}, want: "it asks for alpha-a3-3, which other jobs have or which is out of service"},
		"idle machines fit": {given: func(w waitingPending) {
			w.keep()
			w.Nodes("alpha-a3-[2-3]", scenetest.Idle)
			w.Snap.Reservations[0].Nodes = scenetest.Names("alpha-a3-[0-1]")
		}, want: "idle machines fit it, and Slurm has not started it yet", unknown: true},
		"Slurm chooses": {given: func(w waitingPending) {
			w.reserve(coldName, 0, "alpha-a3-[0-3]", "")
			w.job().Reservation = coldName
		}, want: "Slurm is choosing its nodes"},
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

var coldName = memo.ColdReservation("alpha", "7", noon)

// slip returns a cluster where Slurm leaves a job pending although idle machines seem to fit it.
// Two names are left.
func slip(since time.Duration) waitingPending {
	w := newUnasked()
	w.keep()
	w.Nodes("alpha-a3-[2-3]", scenetest.Idle)
	w.Snap.Reservations[0].Nodes = scenetest.Names("alpha-a3-[0-1]")
	w.Snap.Unasked = map[uint32]time.Time{7: noon.Add(-since)}
	return w
}

func TestStarvingJobIsReportedAndSlurmChoosesItsNodes(t *testing.T) {
	w := slip(5 * time.Minute)
	assert.Equal(t, "reserve alpha-a3-[0-1] from 2026-11-21T12:00:00Z\nhave job 7 use reservation COLD", strings.ReplaceAll(w.inSlurm(), coldName, "COLD"))
	assert.Equal(t, []string{"job 7 has lacked only nodes of a3 for 5m, and no machines are requested for it (idle machines fit it, and Slurm has not started it yet); " +
		"slurmflex now lets Slurm choose its nodes, once every five minutes: compare scontrol show job 7 with the nodes"}, plan.Compute(w.Scene()).Problems.Texts())

	w.reserve(coldName, 0, "alpha-a3-[0-1]", "")
	w.job().Reservation = coldName
	assert.Empty(t, w.inSlurm())
	assert.Len(t, plan.Compute(w.Scene()).Problems, 1, "it still waits without a request")

	w.job().State, w.job().Nodes = slurm.JobConfiguring, scenetest.Names("alpha-a3-[0-1]")
	w.Nodes("alpha-a3-[0-1]", "ALLOCATED+CLOUD+POWERED_DOWN")
	assert.Contains(t, strings.ReplaceAll(w.inSlurm(), coldName, "COLD"), "delete reservation COLD")
	assert.Empty(t, plan.Compute(w.Scene()).Problems)
}

func TestJobStarvesOnlyAfterFiveMinutes(t *testing.T) {
	w := slip(4*time.Minute + 59*time.Second)
	assert.Empty(t, w.inSlurm())
	assert.Empty(t, plan.Compute(w.Scene()).Problems)
	assert.Equal(t, map[uint32]time.Time{7: noon.Add(-4*time.Minute - 59*time.Second)}, demand.WithoutReason(plan.Compute(w.Scene()).Held))
}

func TestOnlyOneStarvingJobHasADoorAtATime(t *testing.T) {
	w := slip(5 * time.Minute)
	w.reserve(memo.ColdReservation("alpha", "6", noon), 0, "alpha-a3-0", "")
	other := *w.job()
	other.ID, other.ArrayID, other.Reservation = 6, 6, memo.ColdReservation("alpha", "6", noon)
	w.Snap.Jobs = append(w.Snap.Jobs, other)
	w.Snap.Jobs[0].NodeCount = 1
	assert.Empty(t, w.inSlurm())
}

// slurmflex does not request machines a second time for a job that lacks more than machines.
func TestSlurmChoosesTheNodesOfAJobThatWasLate(t *testing.T) {
	w := newUnasked()
	w.Snap.Late = map[uint32]scene.Late{7: {Until: noon.Add(-time.Second), In: []string{"a3"}}}
	assert.Equal(t, "reserve alpha-a3-[0-3] from 2026-11-21T12:00:00Z\nhave job 7 use reservation COLD", strings.ReplaceAll(w.inSlurm(), coldName, "COLD"))
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
	assert.NotContains(t, w.inSlurm(), ".cold-")
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
	assert.NotContains(t, w.inSlurm(), ".cold-")
	assert.Empty(t, plan.Compute(w.Scene()).Held)
}

func TestColdDoorIsDeletedIfTheJobDoesNotStart(t *testing.T) {
	w := newUnasked()
	w.reserve(coldName, -41*time.Second, "alpha-a3-[0-3]", "")
	w.job().Reservation = coldName
	for _, a := range plan.Compute(w.Scene()).Actions {
		d, is := a.(action.DeleteReservation)
		assert.True(t, is && d.Late != "" && d.Address == "7", a.String())
	}
	assert.Equal(t, "delete reservation COLD", strings.ReplaceAll(w.inSlurm(), coldName, "COLD"))
}

// If the clock of the host was ahead when the door was made, the door starts in the future.
func TestColdDoorThatStartsInTheFutureIsOpened(t *testing.T) {
	w := newUnasked()
	w.reserve(coldName, 24*time.Hour, "alpha-a3-[0-3]", "")
	w.job().Reservation = coldName
	assert.Equal(t, "change reservation COLD from 2026-11-21T12:00:00Z", strings.ReplaceAll(w.inSlurm(), coldName, "COLD"))
}

// A component in another partition uses none of our nodes and no door.
func TestHeterogeneousJobWithAForeignComponentGetsADoor(t *testing.T) {
	w := newUnasked()
	w.job().HetID, w.job().HetOffset = 7, 0
	foreign := *w.job()
	foreign.ID, foreign.HetOffset, foreign.Partition, foreign.Reason = 8, 1, "cpu", "None"
	w.Snap.Jobs = append(w.Snap.Jobs, foreign)
	assert.Equal(t, "reserve alpha-a3-[0-1] from 2026-11-21T12:00:00Z\nhave job 7+0 use reservation COLD", strings.ReplaceAll(w.inSlurm(), coldName, "COLD"))

	w.Snap.Jobs[1].Reason = "Licenses"
	assert.Empty(t, w.inSlurm())
	assert.Equal(t, "component 7+1 waits for something else (Licenses)", plan.Compute(w.Scene()).Held[0].Obstacle)
}

func TestCoverIsOffIfSlurmPreempts(t *testing.T) {
	w := newUnasked()
	w.Snap.Preempts = true
	assert.Equal(t, "delete reservation COVER", w.inSlurm())
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
			assert.Equal(t, test.want, w.inSlurm())
			assert.Equal(t, test.named, len(plan.Compute(w.Scene()).Problems) == 1)
		})
	}
}

package notify

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"slurmflex/config"
	"slurmflex/flex/plan"
	"slurmflex/flex/plan/memo"
	"slurmflex/flex/plan/scene"
	"slurmflex/mig"
	"slurmflex/slurm"
	"slurmflex/test/scenetest"
)

// world is the input of passes, and the memory of a process.
type world struct {
	*scenetest.World
	memory memory
	plan   plan.Plan
}

// newWorld returns an empty cluster at noon after the first pass.
func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{World: scenetest.New(scenetest.Cluster("partitions: {train: {partition_nodeset: [a3]}}",
		scenetest.FlexSet("a3", "us-central1-a", "node_count_dynamic_max: 8", "lease_end_warning: 1800")))}
	w.Nodes("alpha-a3-[0-7]", scenetest.PoweredDown)
	w.memory = memory{}
	require.Empty(t, w.pass())
	return w
}

// pass makes a pass a minute later. It returns the events, one per line.
func (w *world) pass() (lines []string) {
	w.Snap.Now = w.Snap.Now.Add(time.Minute)
	s := w.Scene()
	w.plan.Losses = s.Losses()
	for _, e := range w.memory.news(s, w.plan) {
		lines = append(lines, fmt.Sprintf("%s %s %s %s: %s", e.Kind, e.id(), e.NodeSet, slurm.Fold(e.Nodes), e.Text))
	}
	return lines
}

// restart forgets what the process remembers.
func (w *world) restart() { w.memory = memory{} }

// job adds ada's job 812 on two nodes to the queue, or changes its state.
func (w *world) job(state slurm.JobState) *slurm.Job {
	j := w.Job(812, "train", "alpha-a3-[0-1]", state)
	j.User, j.Start, j.Limit = "ada", w.Snap.Now, slurm.Limit{Kind: slurm.LimitSet, Duration: 24 * time.Hour}
	if state.Waits() {
		j.Nodes = nil
	}
	return j
}

const group = "alpha-a3-job-812"

// grant creates the machines of job 812, which end in an hour.
func (w *world) grant() {
	w.Nodes("alpha-a3-[0-1]", scenetest.PoweringUp)
	w.Group(group, mig.Stamp{NodeSet: "a3", Job: 812})
	for i := range w.Machines("alpha-a3-[0-1]", group) {
		w.Snap.Instances[i].Terminates = w.Snap.Now.Add(time.Hour)
	}
}

// run starts job 812 on its machines.
func (w *world) run() {
	w.Nodes("alpha-a3-[0-1]", scenetest.Busy)
	w.job(slurm.JobRunning)
}

const (
	grantedLine = "machines-granted 812 a3 alpha-a3-[0-1]: job 812: has all its machines: alpha-a3-[0-1]"
	runningLine = "job-running 812 a3 alpha-a3-[0-1]: job 812: runs on alpha-a3-[0-1]"
)

func TestEachEventIsReportedOnce(t *testing.T) {
	w := newWorld(t)
	w.job(slurm.JobConfiguring)
	assert.Empty(t, w.pass())
	w.grant()
	all := w.Snap.Instances
	w.Snap.Instances = all[:1]
	assert.Empty(t, w.pass(), "one of two machines")
	w.Snap.Instances = all
	assert.Equal(t, []string{grantedLine}, w.pass())
	assert.Empty(t, w.pass())
	w.Snap.Instances = nil
	assert.Empty(t, w.pass())
	w.Snap.Instances = all
	assert.Empty(t, w.pass(), "a list was incomplete for a moment")
	w.run()
	assert.Equal(t, []string{runningLine}, w.pass())
	assert.Empty(t, w.pass())
}

func TestRestartedProcessReportsNothingThatItFinds(t *testing.T) {
	w := newWorld(t)
	w.grant()
	w.run()
	w.restart()
	assert.Empty(t, w.pass())
	w.job(slurm.JobPending)
	w.restart()
	w.Snap.Unseen[scenetest.US] = errors.New("503")
	assert.Empty(t, w.pass())
	w.run()
	assert.Equal(t, []string{runningLine}, w.pass(), "Slurm shows it")
	delete(w.Snap.Unseen, scenetest.US)
	assert.Empty(t, w.pass(), "the first observation of the region")
	w.Snap.Unseen[scenetest.US] = errors.New("503")
	assert.Empty(t, w.pass())
	delete(w.Snap.Unseen, scenetest.US)
	assert.Empty(t, w.pass(), "an outage")
}

func TestJobUnreadAtTheStartIsNotReported(t *testing.T) {
	w := newWorld(t)
	w.grant()
	w.run()
	running := w.Snap.Jobs
	w.Snap.Jobs, w.Snap.Unread = nil, slurm.Unread{{Kind: slurm.JobRow}}
	w.restart()
	w.Snap.Begun = w.Snap.Now.Add(30 * time.Second)
	assert.Empty(t, w.pass())
	w.Snap.Jobs, w.Snap.Unread = running, nil
	assert.Empty(t, w.pass(), "it started before the daemon")
	w.run()
	assert.Equal(t, []string{runningLine}, w.pass())
}

func TestPendingJobIsGrantedItsMachinesOnce(t *testing.T) {
	w := newWorld(t)
	w.Snap.Reservations = []slurm.Reservation{{
		Name: memo.DoorReservation("alpha", "812", w.Snap.Now), Nodes: []string{"alpha-a3-0", "alpha-a3-1"}, Start: w.Snap.Now.Add(time.Hour),
	}}
	w.job(slurm.JobPending)
	assert.Empty(t, w.pass())
	w.grant()
	w.Nodes("alpha-a3-[0-1]", scenetest.PoweredDown)
	assert.Equal(t, []string{grantedLine}, w.pass())
	assert.Empty(t, w.pass())
	w.run()
	assert.Equal(t, []string{runningLine}, w.pass())
}

func TestMachinesOfNodesAreGrantedToTheirJob(t *testing.T) {
	w := newWorld(t)
	w.job(slurm.JobConfiguring)
	w.Nodes("alpha-a3-[0-1]", scenetest.PoweringUp)
	w.Group("alpha-a3-0-g", mig.Stamp{NodeSet: "a3", Node: "alpha-a3-0"})
	w.Group("alpha-a3-1-g", mig.Stamp{NodeSet: "a3", Node: "alpha-a3-1"})
	w.Machine("alpha-a3-0", "alpha-a3-0-g")
	assert.Empty(t, w.pass())
	w.Machine("alpha-a3-1", "alpha-a3-1-g")
	assert.Equal(t, []string{grantedLine}, w.pass())
	w.run()
	assert.Equal(t, []string{runningLine}, w.pass())
}

func TestRequeuedJobIsReportedAgain(t *testing.T) {
	w := newWorld(t)
	w.job(slurm.JobConfiguring)
	w.grant()
	w.run()
	assert.Equal(t, []string{grantedLine, runningLine}, w.pass())
	w.job(slurm.JobPending)
	w.Snap.Instances = nil
	assert.Empty(t, w.pass())
	w.job(slurm.JobConfiguring)
	w.grant()
	w.run()
	assert.Equal(t, []string{grantedLine, runningLine}, w.pass())
}

func TestJobOnIdleMachinesIsGrantedNone(t *testing.T) {
	w := newWorld(t)
	w.grant()
	w.Group(group, mig.Stamp{NodeSet: "a3", Job: 700})
	w.job(slurm.JobConfiguring)
	assert.Empty(t, w.pass())
	w.run()
	assert.Equal(t, []string{runningLine}, w.pass())
}

func TestLostMachinesAreOneEventPerJob(t *testing.T) {
	w := newWorld(t)
	w.grant()
	w.run()
	w.pass()
	all := w.Snap.Instances
	w.Snap.Instances = all[1:]
	assert.Empty(t, w.pass(), "one list may be wrong")
	w.Snap.Missed = map[string]bool{"alpha-a3-0": true}
	assert.Equal(t, []string{"machine-lost 812 a3 alpha-a3-0: job 812: the machine of alpha-a3-0 is gone: deleted by somebody, or lost by Google"}, w.pass())
	assert.Empty(t, w.pass())
	w.Snap.Instances, w.Snap.Missed = nil, map[string]bool{"alpha-a3-0": true, "alpha-a3-1": true}
	assert.Equal(t, []string{"machine-lost 812 a3 alpha-a3-[0-1]: job 812: the machines of alpha-a3-[0-1] are gone: deleted by somebody, or lost by Google"}, w.pass())
	assert.Empty(t, w.pass())
}

func TestHeldJobAndBlockedNodesetMayRecur(t *testing.T) {
	w := newWorld(t)
	hold := func() {
		w.job(slurm.JobPending).Reason = "JobHeldAdmin"
		w.Snap.Told[812] = "flex-start: held: 403 forbidden"
		w.plan.Problems = scene.Problems{scene.NewProblem("nodeset-blocked", "a3", "nodeset a3 is blocked")}
	}
	events := []string{"job-held 812  : job 812: is held: held: 403 forbidden", "nodeset-blocked a3 a3 : nodeset a3 is blocked"}
	hold()
	assert.Equal(t, events, w.pass())
	assert.Empty(t, w.pass())
	w.Snap.Unread = slurm.Unread{{Kind: slurm.JobRow}}
	w.Snap.Unseen[scenetest.US] = errors.New("503")
	w.Snap.Jobs, w.plan.Problems = nil, nil
	assert.Empty(t, w.pass())
	hold()
	assert.Empty(t, w.pass(), "they may have lasted")
	w.Snap.Unread, w.Snap.Unseen = nil, map[string]error{}
	w.job(slurm.JobPending)
	w.plan.Problems = nil
	assert.Empty(t, w.pass())
	hold()
	assert.Equal(t, events, w.pass())
}

func TestLeaseEndIsReportedInTime(t *testing.T) {
	w := newWorld(t)
	w.grant()
	w.run()
	end := w.Snap.Instances[0].Terminates
	w.Snap.Reservations = []slurm.Reservation{{Name: fmt.Sprintf("slurmflex-alpha-%d", end.Unix()), Nodes: []string{"alpha-a3-0", "alpha-a3-1"}, Start: end}}
	w.pass()
	w.Snap.Now = end.Add(-32 * time.Minute)
	assert.Empty(t, w.pass(), "31 minutes")
	line := "lease-ends 812 a3 alpha-a3-[0-1]: job 812: the lease of its nodes ends at 2026-11-21T13:01:00Z, before its time limit"
	assert.Equal(t, []string{line}, w.pass())
	assert.Empty(t, w.pass())
	w.restart()
	w.Snap.Now = end.Add(-40 * time.Minute)
	assert.Empty(t, w.pass())
	w.Snap.Now = end
	assert.Empty(t, w.pass(), "it is over")
}

func TestMostUrgentEventsComeLast(t *testing.T) {
	assert.Equal(t, config.NodeSetBlocked, config.Events()[len(config.Events())-1])
	w := newWorld(t)
	w.job(slurm.JobConfiguring)
	w.grant()
	w.run()
	held := w.Job(7, "train", "", slurm.JobPending)
	held.Nodes, held.Reason = nil, "JobHeldAdmin"
	w.Snap.Told[7] = "flex-start: 403 forbidden"
	assert.Equal(t, []string{grantedLine, runningLine, "job-held 7  : job 7: is held: 403 forbidden"}, w.pass())
}

func TestJobThatHasLeftTheQueueIsForgotten(t *testing.T) {
	w := newWorld(t)
	w.job(slurm.JobConfiguring)
	w.grant()
	w.run()
	events := []string{grantedLine, runningLine}
	assert.Equal(t, events, w.pass())
	jobs := w.Snap.Jobs
	w.Snap.Jobs = nil
	assert.Empty(t, w.pass())
	w.Snap.Jobs = jobs
	assert.Equal(t, events, w.pass(), "it takes no memory")
}

// An admin holds a job with `scontrol hold` that slurmflex has never held.
func TestAdminsHoldIsNotSlurmflexsHold(t *testing.T) {
	for _, told := range []string{
		"flex-start: requeued at 2026-11-21T11:00:00Z: the machine of alpha-a3-0 did not join Slurm within boot_timeout",
		"flex-start: its nodes were returned to Slurm; slurmflex requests machines again once Slurm may start the job",
		"flex-start: machine lost at 2026-11-21T11:00:00Z: the machine of alpha-a3-0 is gone",
		"flex-start: waiting since 2026-11-21T11:00:00Z for 2 × a3-highgpu-8g for 02:00:00",
	} {
		w := newWorld(t)
		w.job(slurm.JobPending)
		w.pass()
		w.job(slurm.JobPending).Reason = "JobHeldAdmin"
		w.Snap.Told[812] = told
		assert.Empty(t, w.pass(), told)
	}
}

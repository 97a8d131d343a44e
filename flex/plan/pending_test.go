package plan_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"slurmflex/config"
	"slurmflex/flex/plan"
	"slurmflex/flex/plan/memo"
	"slurmflex/mig"
	"slurmflex/slurm"
	"slurmflex/test/scenetest"
)

// waitingPending is a cluster of four covered nodes in which job 7 waits for two machines, behind a
// door over the first two that was made a minute ago.
type waitingPending struct{ *scenetest.World }

var (
	coverName = memo.CoverReservation("alpha", noon.Add(-10*time.Minute))
	doorName  = memo.DoorReservation("alpha", "7", noon.Add(-time.Minute))
)

func newWaitingPending() waitingPending {
	w := waitingPending{scenetest.New(scenetest.Cluster("partitions:\n  train: {enable_job_exclusive: true, partition_nodeset: [a3]}\nslurmflex: {waiting: pending}",
		scenetest.FlexSet("a3", "us-central1-a", "node_count_dynamic_max: 4", "max_run_duration: 14400")))}
	w.Snap.Promises, w.Snap.SuspendTime = true, 5*time.Minute
	w.Snap.Templates[w.Config.FlexSetOf("alpha-a3-0").Template] = scenetest.FlexTemplate("a3-highgpu-8g")
	w.Nodes("alpha-a3-[0-3]", scenetest.PoweredDown)
	w.Snap.Partitions = []slurm.Partition{{Name: "train", Exclusive: true, Up: true, Nodes: scenetest.Names("alpha-a3-[0-3]")}}
	w.Snap.Jobs = []slurm.Job{{
		ID: 7, ArrayID: 7, State: slurm.JobPending, Priority: 10, NodeCount: 2, Partition: "train", User: "ann", Reason: "Reservation", Reservation: doorName,
		Limit: slurm.Limit{Kind: slurm.LimitSet, Duration: time.Hour},
	}}
	w.Snap.Requeues[7] = true
	w.reserve(coverName, -10*time.Minute, "alpha-a3-[0-3]", "PURGE_COMP=00:16:00")
	w.reserve(doorName, 4*time.Minute+30*time.Second, "alpha-a3-[0-1]", "PURGE_COMP=00:05:00")
	return w
}

func (w waitingPending) reserve(name string, starts time.Duration, nodes, flags string) {
	w.Snap.Reservations = append(w.Snap.Reservations, slurm.Reservation{
		Name: name, Start: noon.Add(starts), End: noon.Add(365 * 24 * time.Hour), Nodes: scenetest.Names(nodes), Flags: []string{flags},
	})
}

// job is job 7.
func (w waitingPending) job() *slurm.Job { return &w.Snap.Jobs[0] }

// door is the reservation of job 7.
func (w waitingPending) door() *slurm.Reservation { return &w.Snap.Reservations[1] }

// up has machines of the nodes have registered.
func (w waitingPending) up(nodes string) {
	w.Nodes(nodes, "IDLE+CLOUD+RESERVED")
	group := w.Group("alpha-a3-job-7", mig.Stamp{NodeSet: "a3", Job: 7})
	group.Created = noon
	for i := range w.Machines(nodes, "alpha-a3-job-7") {
		w.Snap.Instances[i].Created = noon.Add(-30 * time.Second)
	}
}

// inSlurm returns what a plan does with reservations and nodes.
func (w waitingPending) inSlurm() string {
	var done []string
	for _, a := range plan.Compute(w.Scene()).Actions {
		switch a.(type) {
		case plan.CreateReservation, plan.SetReservation, plan.DeleteReservation, plan.UseReservation, plan.SetNodes, plan.ReturnNodes:
			text := strings.NewReplacer(coverName, "COVER", doorName, "DOOR").Replace(a.String())
			done = append(done, text)
		}
	}
	return strings.Join(done, "\n")
}

func TestJobLeavesItsDoorBesideIdleMachinesThatFit(t *testing.T) {
	w := newWaitingPending()
	w.keep()
	w.Nodes("alpha-a3-[2-3]", scenetest.Idle)
	w.Snap.Reservations[0].Nodes = scenetest.Names("alpha-a3-[0-1]")
	assert.Equal(t, "have job 7 leave reservation DOOR", w.inSlurm())
	w.job().Reservation = ""
	assert.Empty(t, w.inSlurm())
	w.job().NodeCount = 1
	w.door().Nodes = scenetest.Names("alpha-a3-0")
	w.up("alpha-a3-0")
	assert.Equal(t, "have job 7 use reservation DOOR", w.inSlurm(), "its machine has come")
}

func TestDoorOfAJobThatWaitsPending(t *testing.T) {
	for name, test := range map[string]struct {
		given func(w waitingPending)
		want  string
	}{
		"machines to come":        {func(waitingPending) {}, ""},
		"its start is near":       {func(w waitingPending) { w.door().Start = noon.Add(3 * time.Minute) }, "change reservation DOOR from 2026-11-21T12:05:00Z"},
		"not named":               {func(w waitingPending) { w.job().Reservation = "" }, "have job 7 use reservation DOOR"},
		"one machine up":          {func(w waitingPending) { w.up("alpha-a3-0") }, ""},
		"all machines up":         {func(w waitingPending) { w.up("alpha-a3-[0-1]") }, "change reservation DOOR from 2026-11-21T12:00:00Z"},
		"the job is to start":     {func(w waitingPending) { w.up("alpha-a3-[0-1]"); w.door().Start = noon.Add(-39 * time.Second) }, ""},
		"the job does not start":  {func(w waitingPending) { w.up("alpha-a3-[0-1]"); w.door().Start = noon.Add(-41 * time.Second) }, "delete reservation DOOR"},
		"started while no daemon": {func(w waitingPending) { w.door().Start = noon.Add(-time.Minute) }, ""},
		"the job runs": {func(w waitingPending) {
			w.up("alpha-a3-[0-1]")
			w.Nodes("alpha-a3-[0-1]", "ALLOCATED+CLOUD+POWER_DOWN")
			w.job().State, w.job().Nodes = slurm.JobRunning, scenetest.Names("alpha-a3-[0-1]")
		}, "delete reservation DOOR"},
		"the job runs elsewhere": {func(w waitingPending) {
			w.Nodes("alpha-a3-[2-3]", "ALLOCATED+CLOUD+POWER_DOWN")
			w.job().State, w.job().Nodes = slurm.JobRunning, scenetest.Names("alpha-a3-[2-3]")
		}, "delete reservation DOOR"},
		"the job has left the queue": {func(w waitingPending) { w.Snap.Jobs = nil }, "delete reservation DOOR"},
		"a job could not be read": {func(w waitingPending) {
			w.Snap.Jobs = nil
			w.Snap.Unread = slurm.Unread{{Kind: slurm.JobRow}}
		}, ""},
		"the job is held":                    {func(w waitingPending) { w.job().Priority, w.job().Reason = 0, "JobHeldUser" }, "delete reservation DOOR"},
		"the job wants more nodes":           {func(w waitingPending) { w.job().NodeCount = 3 }, "delete reservation DOOR"},
		"the job asks for other nodes":       {func(w waitingPending) { w.job().Reservation = "theirs" }, "delete reservation DOOR"},
		"a node is down":                     {func(w waitingPending) { w.Nodes("alpha-a3-1", "DOWN+CLOUD+POWERED_DOWN") }, "delete reservation DOOR"},
		"this process makes one pass":        {func(w waitingPending) { w.Snap.Promises = false; w.job().Reservation = "" }, ""},
		"jobs are to wait configuring again": {func(w waitingPending) { w.Config.Options.Waiting = config.Configuring }, "delete reservation COVER\nchange reservation DOOR from 2026-11-21T12:00:00Z"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWaitingPending()
			test.given(w)
			assert.Equal(t, test.want, w.inSlurm())
		})
	}
}

func TestPendingJobsGetDoors(t *testing.T) {
	const pair = "reserve alpha-a3-[0-1] from 2026-11-21T12:05:00Z\nhave job 7 use reservation NEW"
	for name, test := range map[string]struct {
		given func(w waitingPending)
		want  string
	}{
		"the lowest names":             {func(waitingPending) {}, pair},
		"those that it asks for":       {func(w waitingPending) { w.job().Needs = "alpha-a3-2" }, strings.Replace(pair, "[0-1]", "[0,2]", 1)},
		"none that it excludes":        {func(w waitingPending) { w.job().Excludes = "alpha-a3-[0-1]" }, strings.Replace(pair, "[0-1]", "[2-3]", 1)},
		"none that others have":        {func(w waitingPending) { w.reserve("theirs", time.Hour, "alpha-a3-0", "") }, "change reservation COVER to alpha-a3-[1-3]\n" + strings.Replace(pair, "[0-1]", "[1-2]", 1)},
		"none for a job that is held":  {func(w waitingPending) { w.job().Priority = 0 }, ""},
		"none before Slurm has looked": {func(w waitingPending) { w.job().Reason = "None" }, ""},
		"none for want of a licence":   {func(w waitingPending) { w.job().Reason = "Licenses" }, ""},
		"none for more than there are": {func(w waitingPending) { w.job().NodeCount = 5 }, ""},
		"none for a job that was late": {func(w waitingPending) { w.Snap.Late = map[uint32]time.Time{7: noon.Add(time.Minute)} }, ""},
		"none from a single pass":      {func(w waitingPending) { w.Snap.Promises = false }, ""},
		"none beside idle machines": {func(w waitingPending) {
			w.keep()
			w.Nodes("alpha-a3-[2-3]", scenetest.Idle)
			w.Snap.Reservations[0].Nodes = scenetest.Names("alpha-a3-[0-1]")
		}, ""},
		"none where partitions overlap": {func(w waitingPending) { w.Snap.Partitions[0].Name = "other" }, "delete reservation COVER"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWaitingPending()
			w.Snap.Reservations = w.Snap.Reservations[:1]
			w.job().Reservation, w.job().Reason = "", "ReqNodeNotAvail, May be reserved for other job"
			test.given(w)
			assert.Equal(t, test.want, strings.ReplaceAll(w.inSlurm(), memo.DoorReservation("alpha", "7", noon), "NEW"))
		})
	}
}

// keep has machines stay for an hour after their jobs.
func (w waitingPending) keep() {
	for _, set := range w.Config.FlexSets() {
		set.Flex.KeepIdle = time.Hour
	}
	for i := range w.Snap.Nodes {
		w.Snap.Nodes[i].LastBusyTime = noon.Add(-time.Minute)
	}
}

func TestTasksOfAnArrayGetDoorsUpToTheirThrottle(t *testing.T) {
	w := newWaitingPending()
	w.Snap.Reservations = w.Snap.Reservations[:1]
	j := w.job()
	j.Reservation, j.Reason, j.NodeCount, j.ArrayTask = "", "Priority", 1, "2,5-9%2"
	assert.Equal(t, "reserve alpha-a3-0 from 2026-11-21T12:05:00Z\nhave job 7_2 use reservation A\nreserve alpha-a3-1 from 2026-11-21T12:05:00Z\nhave job 7_5 use reservation B",
		strings.NewReplacer(memo.DoorReservation("alpha", "7_2", noon), "A", memo.DoorReservation("alpha", "7_5", noon), "B").Replace(w.inSlurm()))
}

func TestAHeterogeneousJobGetsAnOpenDoor(t *testing.T) {
	w := newWaitingPending()
	w.Snap.Reservations = w.Snap.Reservations[:1]
	j := w.job()
	j.Reservation, j.Reason, j.HetID = "", "Priority", 7
	second := *j
	second.ID, second.HetOffset, second.NodeCount = 8, 1, 1
	w.Snap.Jobs = append(w.Snap.Jobs, second)
	assert.Equal(t, "reserve alpha-a3-[0-2] from 2026-11-21T12:00:00Z\nhave job 7 use reservation NEW",
		strings.ReplaceAll(w.inSlurm(), memo.DoorReservation("alpha", "7", noon), "NEW"))
}

func TestCoverIsMadeRaisedAndReplaced(t *testing.T) {
	made := memo.CoverReservation("alpha", noon)
	for name, test := range map[string]struct {
		given func(w waitingPending)
		want  string
	}{
		"none":          {func(w waitingPending) { w.Snap.Reservations = nil }, "reserve alpha-a3-[0-3] from 2026-11-21T12:00:00Z"},
		"raised lately": {func(waitingPending) {}, ""},
		"to be raised":  {func(w waitingPending) { w.Snap.Reservations[0].Flags[0] = "PURGE_COMP=00:14:59" }, "change reservation COVER, deleted after 17 min without a pass"},
		"an hour old": {func(w waitingPending) {
			w.Snap.Reservations[0].Name = memo.CoverReservation("alpha", noon.Add(-61*time.Minute))
		}, "reserve alpha-a3-[0-3] from 2026-11-21T12:00:00Z"},
		"before a restart":  {func(w waitingPending) { w.Snap.SlurmctldSince = noon.Add(-9 * time.Minute) }, "reserve alpha-a3-[0-3] from 2026-11-21T12:00:00Z"},
		"replaced":          {func(w waitingPending) { w.reserve(made, 0, "alpha-a3-[0-3]", "PURGE_COMP=00:06:00") }, "delete reservation COVER"},
		"not to be read":    {func(w waitingPending) { w.Snap.Unread = slurm.Unread{{Kind: slurm.ReservationRow}} }, ""},
		"of another daemon": {func(w waitingPending) { w.Snap.Promises = false }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWaitingPending()
			w.Snap.Jobs, w.Snap.Reservations = nil, w.Snap.Reservations[:1]
			test.given(w)
			assert.Equal(t, test.want, w.inSlurm())
		})
	}
}

// A machine that registered long ago is not lost to SuspendTime behind its job's door.
func TestDoorOpensBeforeSuspendTime(t *testing.T) {
	w := newWaitingPending()
	w.up("alpha-a3-0")
	w.Node("alpha-a3-0").LastBusyTime = noon.Add(-2 * time.Minute)
	w.door().Start = noon.Add(time.Minute)
	assert.Equal(t, "change reservation DOOR from 2026-11-21T12:02:00Z", w.inSlurm())
}

// Machines that no job has any more go, and nobody is placed on their nodes first.
func TestIdleMachinesOfCoveredNodesGo(t *testing.T) {
	w := newWaitingPending()
	w.Snap.Jobs, w.Snap.Reservations = nil, w.Snap.Reservations[:1]
	w.up("alpha-a3-0")
	assert.Equal(t, "set nodes alpha-a3-0 power_down", w.inSlurm())
	w.Snap.Reservations[0].Nodes = scenetest.Names("alpha-a3-[1-3]")
	assert.Equal(t, "change reservation COVER to alpha-a3-[0-3]", w.inSlurm())
}

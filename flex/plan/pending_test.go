package plan_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"slurmflex/config"
	"slurmflex/flex/plan"
	"slurmflex/flex/plan/action"
	"slurmflex/flex/plan/memo"
	"slurmflex/flex/plan/sweeps"
	"slurmflex/mig"
	"slurmflex/slurm"
	"slurmflex/test/scenetest"
)

// waitingPending is a cluster of four covered nodes where job 7 waits for two machines. The job has
// a door over the first two nodes that was made a minute ago.
type waitingPending struct{ pendingWorld }

// pendingWorld is a cluster of covered nodes. Its first reservation is the cover, its first job is job 7.
type pendingWorld struct{ *scenetest.World }

var (
	coverName = memo.CoverReservation("alpha", memo.ColdCover, noon.Add(-10*time.Minute))
	doorName  = memo.DoorReservation("alpha", "7", noon.Add(-time.Minute))
)

// newDoor returns the name of the door that a pass makes for the job or task with that address, without
// the job's digest.
func newDoor(address string) string { return memo.DoorReservation("alpha", address, noon) }

var digest = regexp.MustCompile(`(\.door-[0-9_.]+-[0-9]+)-[0-9a-f]{8}`)

// withoutDigests removes the jobs' digests from names of doors.
func withoutDigests(text string) string { return digest.ReplaceAllString(text, "$1") }

func newWaitingPending() waitingPending { return waitingPendingIn(4) }

// waitingPendingIn returns that cluster with more nodes.
func waitingPendingIn(size int) waitingPending {
	w := waitingPending{pendingWorld{scenetest.New(scenetest.Cluster("partitions:\n  train: {enable_job_exclusive: true, partition_nodeset: [a3]}\nslurmflex: {waiting: pending}",
		scenetest.FlexSet("a3", "us-central1-a", fmt.Sprint("node_count_dynamic_max: ", size), "max_run_duration: 14400")))}}
	nodes := fmt.Sprintf("alpha-a3-[0-%d]", size-1)
	w.Snap.Promises, w.Snap.SuspendTime = true, 5*time.Minute
	w.Snap.Templates[w.Config.FlexSetOf("alpha-a3-0").Template] = scenetest.FlexTemplate("a3-highgpu-8g")
	w.Nodes(nodes, scenetest.PoweredDown)
	w.Snap.Partitions = []slurm.Partition{{Name: "train", Exclusive: true, Up: true, Begins: true, Nodes: scenetest.Names(nodes)}}
	w.Snap.Jobs = []slurm.Job{{
		ID: 7, ArrayID: 7, State: slurm.JobPending, Priority: 10, NodeCount: 2, Partition: "train", User: "ann", Reason: "Reservation", Reservation: doorName,
		Limit: slurm.Limit{Kind: slurm.LimitSet, Duration: time.Hour},
	}}
	w.Snap.Records[7] = scenetest.Requeued
	w.reserve(coverName, -10*time.Minute, nodes, "PURGE_COMP=00:16:00")
	w.reserve(doorName, 14*time.Minute+30*time.Second, "alpha-a3-[0-1]", "PURGE_COMP=00:05:00")
	return w
}

func (w pendingWorld) reserve(name string, starts time.Duration, nodes string, flags ...string) {
	w.Snap.Reservations = append(w.Snap.Reservations, slurm.Reservation{
		Name: name, Start: noon.Add(starts), End: endOf(name), Nodes: scenetest.Names(nodes), Flags: flags,
	})
}

// window adds an admin's reservation.
func (w pendingWorld) window(starts, ends time.Duration, nodes string, flags ...string) {
	w.reserve("adm", starts, nodes, flags...)
	w.Snap.Reservations[len(w.Snap.Reservations)-1].End = noon.Add(ends)
}

// covers sets the nodes that the cover closes.
func (w pendingWorld) covers(nodes string) {
	w.Snap.Reservations[0].Nodes = scenetest.Names(nodes)
}

// doorless deletes all reservations except the cover.
func (w pendingWorld) doorless() { w.Snap.Reservations = w.Snap.Reservations[:1] }

// jobless deletes all jobs, and all reservations except the cover.
func (w pendingWorld) jobless() {
	w.Snap.Jobs = nil
	w.doorless()
}

// another adds a copy of job 7 with another ID. The pointer is valid until the next job is added.
func (w pendingWorld) another(id uint32) *slurm.Job {
	j := *w.job()
	j.ID, j.ArrayID = id, id
	w.Snap.Jobs, w.Snap.Records[id] = append(w.Snap.Jobs, j), scenetest.Requeued
	return &w.Snap.Jobs[len(w.Snap.Jobs)-1]
}

// offDoor makes job 7 use no door.
func (w pendingWorld) offDoor() {
	w.job().Reservation, w.job().Reason = "", "ReqNodeNotAvail, May be reserved for other job"
}

// charged sets what job 7 is charged for.
func (w pendingWorld) charged(c slurm.Charge) {
	w.Snap.Allowances.Charges = map[uint32]slurm.Charge{7: c}
}

func (w pendingWorld) plan() plan.Plan { return plan.Compute(w.Scene()) }

// cases maps a situation to its change of the world, if any, and to what a pass does then.
type cases[W any] map[string]struct {
	given func(W)
	want  string
}

// run runs a subtest per case, each in a new world.
func (all cases[W]) run(t *testing.T, world func() W, does func(W) string) {
	for name, test := range all {
		t.Run(name, func(t *testing.T) {
			w := world()
			if test.given != nil {
				test.given(w)
			}
			assert.Equal(t, test.want, does(w))
		})
	}
}

// endOf returns the end of a reservation: for the cover over cold nodes, the horizon.
func endOf(name string) time.Time {
	if memo.ParseHold("alpha", name).Over == memo.ColdCover {
		return noon.Add(23 * time.Hour)
	}
	return noon.Add(365 * 24 * time.Hour)
}

// job returns job 7.
func (w pendingWorld) job() *slurm.Job { return &w.Snap.Jobs[0] }

// door returns the reservation of job 7.
func (w waitingPending) door() *slurm.Reservation { return &w.Snap.Reservations[1] }

// doorStarts sets when the door starts.
func (w waitingPending) doorStarts(in time.Duration) { w.door().Start = noon.Add(in) }

// up makes machines of the nodes register.
func (w waitingPending) up(nodes string) {
	w.Nodes(nodes, "IDLE+CLOUD+RESERVED")
	group := w.Requested(7, nodes, 40*time.Second)
	group.Created, group.Requests[0].State = noon, mig.Succeeded
	for i := range w.Machines(nodes, "alpha-a3-job-7") {
		w.Snap.Instances[i].Created = noon.Add(-30 * time.Second)
	}
}

// inSlurm lists a plan's actions on doors and nodes.
func (w waitingPending) inSlurm() string { return w.list(isOnDoors) }

// onCovers lists a plan's actions on covers.
func (w waitingPending) onCovers() string { return w.list(isOnCovers) }

func (w waitingPending) list(counts func(action.Action) bool) string {
	return strings.NewReplacer(coverName, "COVER", doorName, "DOOR").Replace(withoutDigests(w.texts(counts)))
}

// texts lists the actions of the plan that counts reports true for.
func (w pendingWorld) texts(counts func(action.Action) bool) string {
	var done []string
	for _, a := range w.plan().Actions {
		if counts(a) {
			done = append(done, action.About(a).Text)
		}
	}
	return strings.Join(done, "\n")
}

func isOnCovers(a action.Action) bool {
	var name string
	switch a := a.(type) {
	case action.CreateReservation:
		name = a.Name
	case action.SetReservation:
		name = a.Name
	case action.DeleteReservation:
		name = a.Name
	}
	return memo.ParseHold("alpha", name).Kind == memo.CoverHold
}

// isOnDoors reports whether the action changes a reservation other than a cover, or nodes.
func isOnDoors(a action.Action) bool {
	switch a.(type) {
	case action.CreateReservation, action.SetReservation, action.DeleteReservation, action.UseReservation, action.SetNodes, action.ReturnNodes:
		return !isOnCovers(a)
	}
	return false
}

// K12: while no daemon ran, Slurm deleted the job's door, and the daemon has made another a minute ago.
// Compute kept the request, and the failed one before it.
func TestWaitLastsSinceTheRequestAfterAnAbsence(t *testing.T) {
	w := newWaitingPending()
	group := w.Requested(7, "alpha-a3-[0-1]", time.Hour)
	first := group.Requests[0]
	first.Name, first.State, first.Created = "a0", mig.Failed, noon.Add(-2*time.Hour)
	group.Requests = append([]mig.Request{first}, group.Requests...)
	p := w.plan()
	assert.Equal(t, noon.Add(-2*time.Hour), p.Waits[0].Since)
	assert.Equal(t, noon.Add(-time.Hour), p.Waits[0].Requested)
	assert.Contains(t, w.inCompute(), "waiting since 2026-11-21T10:00:00Z for 2 × a3-highgpu-8g")
}

func TestJobLeavesItsDoorWhileMachinesHaveJustBecomeIdle(t *testing.T) {
	w := newWaitingPending()
	w.keep()
	w.Nodes("alpha-a3-[2-3]", scenetest.Idle)
	w.covers("alpha-a3-[0-1]")
	assert.Equal(t, "have job 7 leave reservation DOOR", w.inSlurm())
	w.job().Limit.Duration = 24 * time.Hour
	assert.Empty(t, w.inSlurm(), "Slurm would not start it there, because it may run beyond the horizon")
	w.job().Limit.Duration = time.Hour
	w.job().Reservation = ""
	assert.Empty(t, w.inSlurm())
	w.Node("alpha-a3-3").LastBusyTime = noon.Add(-3 * time.Minute)
	assert.Equal(t, "have job 7 use reservation DOOR", w.inSlurm(), "Slurm would have started it there if it fitted")
	w.job().NodeCount = 1
	w.door().Nodes = scenetest.Names("alpha-a3-0")
	w.up("alpha-a3-0")
	assert.Equal(t, "have job 7 use reservation DOOR", w.inSlurm(), "its machine has come")
}

func TestJobLeavesItsDoorWhileOrdinaryNodesHaveJustBecomeIdle(t *testing.T) {
	for name, test := range map[string]struct {
		state string
		idle  time.Duration
		in    string
		want  string
	}{
		"just now":               {"IDLE", time.Minute, "train,cpu", "have job 7 leave reservation DOOR"},
		"and powered down":       {"IDLE+CLOUD+POWERED_DOWN", time.Minute, "train,cpu", "have job 7 leave reservation DOOR"},
		"long ago":               {"IDLE", 3 * time.Minute, "train,cpu", ""},
		"but drained":            {"IDLE+DRAIN", time.Minute, "train,cpu", ""},
		"but planned for others": {"IDLE+PLANNED", time.Minute, "train,cpu", ""},
		"of another partition":   {"IDLE", time.Minute, "train", ""},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWaitingPending()
			for _, node := range []string{"onprem-0", "onprem-1"} {
				w.Snap.Nodes = append(w.Snap.Nodes, slurm.Node{Name: node, State: slurm.ParseState(test.state), Partitions: []string{"cpu"}, LastBusyTime: noon.Add(-test.idle)})
			}
			w.job().Partition = test.in
			assert.Equal(t, test.want, w.inSlurm())
			w.job().NodeCount = 3
			assert.NotContains(t, w.inSlurm(), "leave", "two nodes are too few")
		})
	}
}

func TestDoorFollowsAJobThatWaitsPending(t *testing.T) {
	w := newWaitingPending()
	starts := func(in time.Duration) string {
		w.doorStarts(in)
		return w.inSlurm()
	}
	assert.Empty(t, starts(12*time.Minute+31*time.Second), "moved minutes ago")
	assert.Equal(t, "change reservation DOOR from 2026-11-21T12:15:00Z", starts(12*time.Minute+30*time.Second))
	assert.Empty(t, starts(-time.Minute), "started while no daemon ran")
	w.up("alpha-a3-[0-1]")
	assert.Empty(t, starts(-39*time.Second), "the job is to start")
	assert.Equal(t, "delete reservation DOOR", starts(-41*time.Second), "the job does not start")
}

// A daemon may stop after any step for a job that waits pending, and anything may have happened by
// the time the next daemon starts.
func TestDoorInEachStateMeetsEachEvent(t *testing.T) {
	states := map[string]struct {
		up    string // the nodes that have registered
		given func(w waitingPending)
	}{
		"its machines are expected":   {"", func(waitingPending) {}},
		"its job does not use it yet": {"", func(w waitingPending) { w.job().Reservation, w.job().Reason = "", "Priority" }},
		"one machine has registered":  {"alpha-a3-0", func(waitingPending) {}},
		"all machines have":           {"alpha-a3-[0-1]", func(waitingPending) {}},
		"it is open":                  {"alpha-a3-[0-1]", func(w waitingPending) { w.doorStarts(-5 * time.Second) }},
		"its job is late":             {"alpha-a3-[0-1]", func(w waitingPending) { w.doorStarts(-time.Minute) }},
	}
	const gone, nothing = "delete reservation DOOR", ""
	for event, what := range map[string]struct {
		happens func(w waitingPending)
		want    string
		frees   bool              // the machines that are up are deleted
		except  map[string]string // exceptions by state
	}{
		"nothing": {func(waitingPending) {}, nothing, false, map[string]string{
			"its job does not use it yet": "have job 7 use reservation DOOR", "all machines have": "change reservation DOOR from 2026-11-21T12:00:00Z", "its job is late": gone,
		}},
		"the job runs": {func(w waitingPending) {
			w.up("alpha-a3-[0-1]")
			w.Nodes("alpha-a3-[0-1]", "ALLOCATED+CLOUD+POWER_DOWN")
			w.job().State, w.job().Nodes = slurm.JobRunning, scenetest.Names("alpha-a3-[0-1]")
		}, gone, false, nil},
		"the job runs elsewhere": {func(w waitingPending) {
			w.Nodes("alpha-a3-[2-3]", "ALLOCATED+CLOUD+POWER_DOWN")
			w.job().State, w.job().Nodes = slurm.JobRunning, scenetest.Names("alpha-a3-[2-3]")
		}, gone, true, nil},
		"the job has left the queue": {func(w waitingPending) { w.Snap.Jobs = nil }, gone, true, nil},
		"the job is held":            {func(w waitingPending) { w.job().Priority, w.job().Reason = 0, "JobHeldUser" }, gone, false, nil},
		"the job waits for another":  {func(w waitingPending) { w.job().Reason = "Dependency" }, gone, false, map[string]string{"it is open": nothing}},
		"a job could not be read": {func(w waitingPending) {
			w.Snap.Jobs = nil
			w.Snap.Unread = slurm.Unread{{Kind: slurm.JobRow}}
		}, nothing, false, nil},
		"the job excludes a node": {func(w waitingPending) { w.job().Excludes = scenetest.Names("alpha-a3-1") }, gone, false, nil},
		"the job names a node":    {func(w waitingPending) { w.job().Needs = scenetest.Names("alpha-a3-2") }, gone, false, nil},
		"a node of it is down":    {func(w waitingPending) { w.Nodes("alpha-a3-1", "DOWN+CLOUD+POWERED_DOWN") }, gone, false, nil},
		"a node of it is drained": {func(w waitingPending) { w.Nodes("alpha-a3-1", scenetest.PoweredDown+"+DRAIN") }, gone, false, nil},
		"others have reserved a node of it": {func(w waitingPending) {
			w.reserve("theirs", 10*time.Minute, "alpha-a3-1", "MAINT")
			w.covers("alpha-a3-[0,2-3]")
		}, gone, false, map[string]string{"it is open": nothing}},
		"jobs are to wait configuring": {
			func(w waitingPending) { w.Config.Options.Waiting = config.Configuring },
			"change reservation DOOR from 2026-11-21T12:00:00Z", false,
			map[string]string{"it is open": nothing, "its job is late": gone},
		},
		"another process makes one pass": {func(w waitingPending) { w.Snap.Promises = false }, nothing, false, map[string]string{
			"all machines have": "change reservation DOOR from 2026-11-21T12:00:00Z",
		}},
	} {
		for name, state := range states {
			t.Run(event+", and "+name, func(t *testing.T) {
				w := newWaitingPending()
				if state.up != "" {
					w.up(state.up)
				}
				state.given(w)
				what.happens(w)
				want := what.want
				if what.frees && state.up != "" {
					want = "set nodes " + state.up + " power_down\n" + want
				}
				if except, known := what.except[name]; known {
					want = except
				}
				assert.Equal(t, want, w.inSlurm())
			})
		}
	}
}

func TestDoorEndsOnlyIfAnothersReservationMeetsItsJob(t *testing.T) {
	const gone, kept = "delete reservation DOOR", ""
	lease := memo.Reservation("alpha", noon.Add(30*time.Minute)) // of a machine that is gone
	for name, test := range map[string]struct {
		reservation string
		starts      time.Duration
		limit       slurm.LimitKind
		want        string
	}{
		"it has started":                     {"theirs", -10 * time.Minute, slurm.LimitSet, gone},
		"it starts when the job would end":   {"theirs", time.Hour, slurm.LimitSet, gone},
		"it starts after the job":            {"theirs", time.Hour + time.Second, slurm.LimitSet, kept},
		"it starts during a job without end": {"theirs", 100 * time.Hour, slurm.Unlimited, gone},
		"it is for the end of a lease":       {lease, 30 * time.Minute, slurm.LimitSet, "delete reservation " + lease},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWaitingPending()
			w.job().Limit.Kind = test.limit
			w.reserve(test.reservation, test.starts, "alpha-a3-0", "MAINT")
			if test.reservation == "theirs" {
				w.covers("alpha-a3-[1-3]")
			}
			assert.Equal(t, test.want, w.inSlurm())
		})
	}
}

// D8: Slurm refuses to delete a reservation that a job names, and the machines behind a door are
// for its job only.
func TestNoOtherJobOfTheOwnerUsesADoor(t *testing.T) {
	w := newWaitingPending()
	w.another(9)
	assert.Equal(t, "have job 9 leave reservation DOOR", w.inSlurm())

	w.Snap.Jobs = w.Snap.Jobs[1:]
	assert.Equal(t, "have job 9 leave reservation DOOR\ndelete reservation DOOR", w.inSlurm(), "also when the door's job has left")

	w.job().ArrayTask = "1-4"
	assert.Equal(t, "have job 9 leave reservation DOOR\ndelete reservation DOOR", w.inSlurm(), "all tasks of an array")

	w.job().State = slurm.JobRunning
	assert.Equal(t, "delete reservation DOOR", w.inSlurm(), "a job that runs keeps its reservation")

	w.Snap.Unread = slurm.Unread{{Kind: slurm.JobRow}}
	w.job().State = slurm.JobPending
	assert.Empty(t, w.inSlurm(), "the job that could not be read may be the door's")
}

func TestPendingJobsGetDoors(t *testing.T) {
	const pair = "reserve alpha-a3-[0-1] from 2026-11-21T12:15:00Z\nhave job 7 use reservation NEW"
	cases[waitingPending]{
		"those that Slurm has planned": {nil, pair},
		"those that it asks for":       {func(w waitingPending) { w.job().Needs = scenetest.Names("alpha-a3-2") }, strings.Replace(pair, "[0-1]", "[0,2]", 1)},
		"others if a node is down":     {func(w waitingPending) { w.Nodes("alpha-a3-[1-2]", "DOWN+CLOUD+POWERED_DOWN") }, strings.Replace(pair, "[0-1]", "[0,3]", 1)},
		"none that it excludes":        {func(w waitingPending) { w.job().Excludes = scenetest.Names("alpha-a3-[0-1]") }, strings.Replace(pair, "[0-1]", "[2-3]", 1)},
		"none that others have":        {func(w waitingPending) { w.reserve("theirs", time.Hour, "alpha-a3-0", "") }, strings.Replace(pair, "[0-1]", "[1-2]", 1)},
		"none that others soon have": {func(w waitingPending) {
			w.window(59*time.Minute, 2*time.Hour, "alpha-a3-0", "MAINT")
			w.job().Planned = scenetest.Names("alpha-a3-[0-1]")
		}, strings.Replace(pair, "[0-1]", "[1-2]", 1)},
		"none for a job that is held":  {func(w waitingPending) { w.job().Priority = 0 }, ""},
		"none before Slurm has looked": {func(w waitingPending) { w.job().Reason = "None" }, ""},
		"none before its start time":   {func(w waitingPending) { w.job().Reason, w.job().Start = slurm.BeginTime, noon.Add(2*time.Minute) }, ""},
		"none for want of a licence":   {func(w waitingPending) { w.job().Reason = "Licenses" }, ""},
		"none for more than there are": {func(w waitingPending) { w.job().NodeCount = 5 }, ""},
		"if it is expedited":           {func(w waitingPending) { w.job().State = slurm.JobExpediting }, pair},
		"none from a single pass":      {func(w waitingPending) { w.Snap.Promises = false }, ""},
		"none beside idle machines": {func(w waitingPending) {
			w.keep()
			w.Nodes("alpha-a3-[2-3]", scenetest.Idle)
			w.covers("alpha-a3-[0-1]")
		}, ""},
		"none where partitions overlap": {func(w waitingPending) { w.Snap.Partitions[0].Name = "other" }, ""},
	}.run(t, func() waitingPending {
		w := newWaitingPending()
		w.doorless()
		w.offDoor()
		return w
	}, func(w waitingPending) string { return strings.ReplaceAll(w.inSlurm(), newDoor("7"), "NEW") })
}

// keep keeps machines for an hour after their jobs.
func (w waitingPending) keep() {
	for _, set := range w.Config.FlexSets() {
		set.Flex.KeepIdle = time.Hour
	}
	for i := range w.Snap.Nodes {
		w.Snap.Nodes[i].LastBusyTime = noon.Add(-time.Minute)
	}
}

// squeue adds tasks with records of their own to the array's row and leaves the throttle out. The
// rows are those of an array with a throttle of two, after tasks 0 and 1 have got doors.
func TestThrottleHoldsOnceTasksHaveDoors(t *testing.T) {
	for throttle, made := range map[int]int{2: 0, 3: 1, 0: 2} {
		w := newWaitingPending()
		w.doorless()
		w.Snap.Throttles = map[uint32]int{7: throttle}
		j := w.job()
		j.Reservation, j.Reason, j.NodeCount, j.ArrayTask = "", "ReqNodeNotAvail, May be reserved for other job,Reservation", 1, "0-9"
		for i := range 2 {
			door := memo.DoorReservation("alpha", fmt.Sprintf("7_%d", i), noon.Add(-time.Minute))
			w.reserve(door, 14*time.Minute, fmt.Sprintf("alpha-a3-%d", i), "PURGE_COMP=00:05:00")
			task := w.another(uint32(8 + i))
			task.ArrayID, task.ArrayTask, task.Reservation, task.Reason = 7, fmt.Sprint(i), door, "Reservation"
		}
		assert.Equal(t, made, strings.Count(w.inSlurm(), "have job 7_"), throttle)
	}
}

func TestCoverIsMadeRaisedMovedAndReplaced(t *testing.T) {
	made := memo.CoverReservation("alpha", memo.ColdCover, noon)
	const again = "reserve alpha-a3-[0-3] for 1380 min"
	cases[waitingPending]{
		"none":                    {func(w waitingPending) { w.Snap.Reservations = nil }, again},
		"raised lately":           {nil, ""},
		"to be raised":            {func(w waitingPending) { w.Snap.Reservations[0].Flags[0] = "PURGE_COMP=00:14:59" }, "change reservation COVER, deleted after 17 min without a pass"},
		"to be moved":             {func(w waitingPending) { w.Snap.Reservations[0].End = noon.Add(23*time.Hour - 2*time.Minute) }, "change reservation COVER until 2026-11-22T11:00:00Z"},
		"beyond its end":          {func(w waitingPending) { w.Snap.Reservations[0].End = noon.Add(-time.Second) }, again},
		"with a longer bf_window": {func(w waitingPending) { w.Snap.BackfillWindow = 8 * 24 * time.Hour }, "change reservation COVER until 2026-11-29T11:00:00Z"},
		"with a short bf_window":  {func(w waitingPending) { w.Snap.BackfillWindow = 90 * time.Minute }, "change reservation COVER until 2026-11-21T13:00:00Z"},
		"an hour old": {func(w waitingPending) {
			w.Snap.Reservations[0].Name = memo.CoverReservation("alpha", memo.ColdCover, noon.Add(-61*time.Minute))
		}, again},
		"before a restart": {func(w waitingPending) { w.Snap.SlurmctldSince = noon.Add(-9 * time.Minute) }, again},
		"of a node that powers down": {func(w waitingPending) {
			w.keep()
			w.covers("alpha-a3-[0-2]")
			w.Nodes("alpha-a3-3", "IDLE+CLOUD+POWERING_DOWN")
		}, "reserve alpha-a3-3"},
		"replaced":          {func(w waitingPending) { w.reserve(made, 0, "alpha-a3-[0-3]", "PURGE_COMP=00:06:00") }, "delete reservation COVER"},
		"not to be read":    {func(w waitingPending) { w.Snap.Unread = slurm.Unread{{Kind: slurm.ReservationRow}} }, ""},
		"of another daemon": {func(w waitingPending) { w.Snap.Promises = false }, ""},

		"with nodes that others reserve ahead":                     {func(w waitingPending) { w.window(2*time.Hour, 22*time.Hour, "alpha-a3-[0-3]", "MAINT") }, ""},
		"without those that they reserve beyond the horizon":       {func(w waitingPending) { w.window(2*time.Hour, 24*time.Hour, "alpha-a3-[0-1]", "MAINT") }, "change reservation COVER to alpha-a3-[2-3]"},
		"without those that users may use early":                   {func(w waitingPending) { w.window(2*time.Hour, 3*time.Hour, "alpha-a3-[0-1]", "FLEX") }, "change reservation COVER to alpha-a3-[2-3]"},
		"with those whose users may start early and ignore covers": {func(w waitingPending) { w.window(2*time.Hour, 3*time.Hour, "alpha-a3-[0-1]", "FLEX", "MAINT") }, ""},
		"with nodes under maintenance":                             {func(w waitingPending) { w.window(-time.Hour, time.Hour, "alpha-a3-[0-3]", "IGNORE_JOBS", "MAINT") }, ""},
		"with nodes in a reservation that laps":                    {func(w waitingPending) { w.window(-time.Hour, time.Hour, "alpha-a3-[0-3]", "OVERLAP") }, ""},
		"without nodes that others use by users":                   {func(w waitingPending) { w.window(-time.Hour, time.Hour, "alpha-a3-[0-1]", "SPEC_NODES") }, "change reservation COVER to alpha-a3-[2-3]"},
	}.run(t, func() waitingPending {
		w := newWaitingPending()
		w.jobless()
		return w
	}, waitingPending.onCovers)
}

// A node is closed at each moment: it leaves a cover once another one has it.
func TestNodesMoveBetweenCovers(t *testing.T) {
	w := newWaitingPending()
	busy := memo.CoverReservation("alpha", memo.BusyCover, noon.Add(-time.Minute))
	assert.Equal(t, "reserve alpha-a3-[0-1]", w.onCovers(), "behind the door")
	w.reserve(busy, -time.Minute, "alpha-a3-[0-1]", "PURGE_COMP=00:16:00")
	assert.Equal(t, "change reservation COVER to alpha-a3-[2-3]", w.onCovers(), "then they leave the cover over cold nodes")
	w.covers("alpha-a3-[2-3]")
	assert.Empty(t, w.onCovers())
	w.Snap.Jobs, w.Snap.Reservations = nil, slices.Delete(w.Snap.Reservations, 1, 2)
	assert.Equal(t, "change reservation COVER to alpha-a3-[0-3]", w.onCovers(), "the door is gone")
	w.covers("alpha-a3-[0-3]")
	assert.Equal(t, "delete reservation "+busy, w.onCovers())
}

// Machines that keep_idle keeps are open to every job until the horizon. A job closes its node
// again, so that Slurm plans no other job there.
func TestIdleMachinesAreOpenUntilTheHorizon(t *testing.T) {
	w := newWaitingPending()
	w.keep()
	w.jobless()
	w.covers("alpha-a3-[0-2]")
	w.Nodes("alpha-a3-3", scenetest.Idle)
	assert.Equal(t, "reserve alpha-a3-3 from 2026-11-22T11:00:00Z", w.onCovers())
	warm := memo.CoverReservation("alpha", memo.WarmCover, noon.Add(-time.Minute))
	w.reserve(warm, 23*time.Hour, "alpha-a3-3", "PURGE_COMP=00:06:00")
	assert.Empty(t, w.onCovers())
	w.Snap.Reservations[1].Start = noon.Add(22 * time.Hour)
	assert.Equal(t, "change reservation "+warm+" from 2026-11-22T11:00:00Z", w.onCovers())
	w.Snap.Reservations[1].Start = noon.Add(-time.Second)
	assert.Contains(t, w.onCovers(), "reserve alpha-a3-3 from 2026-11-22T11:00:00Z", "no daemon has moved it")
	w.Job(9, "train", "alpha-a3-3", slurm.JobRunning)
	w.Nodes("alpha-a3-3", scenetest.Busy)
	assert.Equal(t, "reserve alpha-a3-3\ndelete reservation "+warm, w.onCovers())
}

// Slurm plans no job on idle machines and cold nodes together, and small jobs might keep the machine for ever.
func TestIdleMachineMakesWayForAJobThatNeedsItsNodeToo(t *testing.T) {
	w := newUnasked()
	w.Snap.Partitions[0].MaxTime.Kind = slurm.Unlimited
	w.keep()
	w.up("alpha-a3-3")
	w.Nodes("alpha-a3-3", scenetest.Idle)
	w.covers("alpha-a3-[0-2]")
	w.reserve(memo.CoverReservation("alpha", memo.WarmCover, noon.Add(-time.Minute)), 23*time.Hour, "alpha-a3-3", "PURGE_COMP=00:06:00")
	w.job().NodeCount, w.job().Planned = 4, nil
	assert.Contains(t, w.onCovers(), "reserve alpha-a3-3\n")
	assert.NotContains(t, w.all(), "power_down")
	w.another(9).NodeCount = 1
	w.Node("alpha-a3-3").LastBusyTime = noon.Add(-time.Minute)
	assert.NotContains(t, w.onCovers(), "reserve alpha-a3-3\n", "another job may start there; closed, it would fit that job in each second pass")
	w.Snap.Jobs, w.Node("alpha-a3-3").LastBusyTime = w.Snap.Jobs[:1], time.Time{}
	w.covers("alpha-a3-[0-3]")
	const down = "set nodes alpha-a3-3 power_down"
	assert.Contains(t, w.all(), down)
	w.job().NodeCount = 3
	assert.NotContains(t, w.all(), down, "cold nodes are enough")
	w.job().NodeCount = 4
	w.Nodes("alpha-a3-2", "IDLE+CLOUD+POWERING_DOWN")
	assert.Contains(t, w.all(), down)
	w.Job(9, "train", "alpha-a3-2", slurm.JobRunning)
	w.Nodes("alpha-a3-2", scenetest.Busy)
	assert.NotContains(t, w.all(), down, "it is not enough")
}

// A registered machine behind its job's door must not be lost to SuspendTime.
func TestDoorOpensBeforeSuspendTime(t *testing.T) {
	w := newWaitingPending()
	w.up("alpha-a3-0")
	w.Node("alpha-a3-0").LastBusyTime = noon.Add(-time.Minute)
	w.doorStarts(20 * time.Second)
	assert.Equal(t, "change reservation DOOR from 2026-11-21T12:03:00Z", w.inSlurm())

	w.doorStarts(3*time.Minute + time.Second)
	assert.Equal(t, "change reservation DOOR from 2026-11-21T12:03:00Z", w.inSlurm(), "it is moved back, too")

	w.Config.Options.Interval = 2 * time.Minute
	w.Snap.Instances = nil
	w.Nodes("alpha-a3-0", scenetest.PoweredDown)
	w.doorStarts(12 * time.Minute)
	assert.Equal(t, "change reservation DOOR from 2026-11-21T12:15:00Z", w.inSlurm(), "it has no machine any more")

	w.Config.Options.Interval = 2*time.Minute + time.Second
	assert.Equal(t, "interval is longer than 2m0s", w.Scene().Uncovered()[w.Config.NodeSets[0]])
}

// Machines that no longer have a job are deleted, and Slurm places no job on their nodes before
// that.
func TestIdleMachinesOfCoveredNodesAreDeleted(t *testing.T) {
	w := newWaitingPending()
	w.jobless()
	w.up("alpha-a3-0")
	assert.Equal(t, "set nodes alpha-a3-0 power_down", w.inSlurm())
	w.covers("alpha-a3-[1-3]")
	assert.Equal(t, "reserve alpha-a3-0", w.onCovers(), "the cover over busy nodes")
}

// The machine may register before a pass has taken the node out of the cover.
func TestMachineOfANodePoweredUpByAnAdminIsKept(t *testing.T) {
	w := newWaitingPending()
	w.jobless()
	w.Nodes("alpha-a3-0", "IDLE+CLOUD+RESERVED")
	w.Group("alpha-a3-node-0", mig.Stamp{NodeSet: "a3", Node: "alpha-a3-0"}, mig.Request{
		Name: "a1", State: mig.Succeeded, Instances: []string{"alpha-a3-0"}, Duration: 4 * time.Hour, Created: noon.Add(-40 * time.Second),
	})
	w.Machines("alpha-a3-0", "alpha-a3-node-0")
	assert.NotContains(t, w.inSlurm(), "power_down")
}

// inCompute lists a plan's actions, also those outside Slurm.
func (w pendingWorld) inCompute() string {
	return w.texts(func(action.Action) bool { return true })
}

// next adds job 8, which is less important than job 7. Job 8 waits for two machines behind a door
// over the last two nodes that was made half a minute ago. Its request is queued at Google. next
// returns the name of the door.
func (w waitingPending) next() string {
	door := memo.DoorReservation("alpha", "8", noon.Add(-30*time.Second))
	j := w.another(8)
	j.Priority, j.Reservation = 5, door
	w.reserve(door, 14*time.Minute+30*time.Second, "alpha-a3-[2-3]", "PURGE_COMP=00:05:00")
	w.Requested(8, "alpha-a3-[2-3]", 20*time.Second)
	return door
}

// done lists a plan's actions, with names for the doors.
func (w waitingPending) done() string {
	return strings.NewReplacer(newDoor("7"), "NEW7", newDoor("8"), "NEW8",
		memo.DoorReservation("alpha", "8", noon.Add(-30*time.Second)), "DOOR8").Replace(w.inSlurm())
}

func TestMachinesBehindAnEndedDoorAreKeptForAnotherJob(t *testing.T) {
	for name, given := range map[string]func(w waitingPending){
		"its job is late": func(w waitingPending) { w.up("alpha-a3-[0-1]"); w.doorStarts(-41 * time.Second) },
		"its job is held": func(w waitingPending) { w.up("alpha-a3-[0-1]"); w.job().Priority, w.job().Reason = 0, "JobHeldUser" },
		"its job has left the queue while machines boot": func(w waitingPending) {
			w.up("alpha-a3-[0-1]")
			w.Nodes("alpha-a3-[0-1]", scenetest.PoweredDown)
			w.Snap.Jobs = w.Snap.Jobs[1:]
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWaitingPending()
			w.next()
			given(w)
			assert.Equal(t, "delete reservation DOOR", w.done())
			assert.NotContains(t, w.inCompute(), "delete instances")
		})
	}
}

// salvaging makes job 7 run on three nodes, with salvage enabled.
func (w waitingPending) salvaging() {
	for _, set := range w.Config.FlexSets() {
		set.Flex.Salvage, set.Flex.SalvageTimeout = true, 10*time.Minute
	}
	w.doorless()
	w.up("alpha-a3-[0-2]")
	w.Nodes("alpha-a3-[0-2]", "ALLOCATED+CLOUD")
	for i := range w.Snap.Instances {
		w.Snap.Instances[i].Created = noon.Add(-20 * time.Minute)
	}
	j := w.job()
	j.State, j.Nodes, j.NodeCount, j.Reservation, j.Reason, j.Start = slurm.JobRunning, scenetest.Names("alpha-a3-[0-2]"), 3, "", "", noon.Add(-15*time.Minute)
}

// lose removes the machine of the third node.
func (w waitingPending) lose() {
	w.Snap.Instances = w.Snap.Instances[:2]
	w.Snap.Missed = map[string]bool{"alpha-a3-2": true}
}

// requeued makes Slurm requeue the job.
func (w waitingPending) requeued() {
	w.lose()
	w.Nodes("alpha-a3-[0-1]", "IDLE+CLOUD+RESERVED")
	w.Nodes("alpha-a3-2", "IDLE+CLOUD+POWERING_DOWN+RESERVED")
	for _, name := range scenetest.Names("alpha-a3-[0-1]") {
		w.Node(name).LastBusyTime = noon.Add(-5 * time.Second)
	}
	j := w.job()
	j.State, j.Nodes, j.Reason, j.Start = slurm.JobPending, nil, slurm.BeginTime, noon.Add(115*time.Second)
}

func TestJobThatLosesAMachineKeepsTheOthersBehindADoor(t *testing.T) {
	const again = "reserve alpha-a3-[0-1,3] from 2026-11-21T12:15:00Z\nhave job 7 use reservation NEW7"
	cases[waitingPending]{
		"it runs":           {nil, ""},
		"a machine is gone": {waitingPending.lose, "set nodes alpha-a3-2 down"},
		"the others are not closed yet": {func(w waitingPending) {
			w.lose()
			w.keep()
			w.covers("alpha-a3-3")
		}, ""},
		"then they are": {func(w waitingPending) {
			w.lose()
			w.keep()
			w.covers("alpha-a3-[0-1,3]")
		}, "set nodes alpha-a3-2 down"},
		"the cover cannot close one, which another's reservation covers later": {func(w waitingPending) {
			w.lose()
			w.keep()
			w.reserve("theirs", 3*time.Hour, "alpha-a3-1", "")
			w.covers("alpha-a3-[0,3]")
		}, "set nodes alpha-a3-2 down"},
		"Slurm takes the job back": {func(w waitingPending) {
			w.requeued()
			w.job().State, w.job().Nodes = slurm.JobCompleting, scenetest.Names("alpha-a3-0")
		}, "set nodes alpha-a3-2 resume"},
		"Slurm has requeued it": {waitingPending.requeued, "set nodes alpha-a3-2 resume\n" + again},
		"the lost node is all that is left": {func(w waitingPending) {
			w.requeued()
			w.Nodes("alpha-a3-3", "IDLE+CLOUD+DRAIN+POWERED_DOWN")
		}, "set nodes alpha-a3-2 resume"},
		"its nodes must be on one switch": {func(w waitingPending) {
			w.requeued()
			w.charged(slurm.Charge{ByPosition: true})
		}, "set nodes alpha-a3-2 resume"},
		"its limit is longer than the leases": {func(w waitingPending) {
			w.requeued()
			w.job().Limit.Duration = 4 * time.Hour
		}, "set nodes alpha-a3-2 resume\nset nodes alpha-a3-[0-1] power_down"},
		"it is held": {func(w waitingPending) { w.requeued(); w.job().Priority = 0 }, "set nodes alpha-a3-2 resume\nset nodes alpha-a3-[0-1] power_down"},
		"it was not to be requeued": {func(w waitingPending) {
			w.requeued()
			w.Snap.Jobs = nil
		}, "set nodes alpha-a3-2 resume\nset nodes alpha-a3-[0-1] power_down"},
	}.run(t, func() waitingPending {
		w := newWaitingPending()
		w.salvaging()
		return w
	}, waitingPending.done)
}

// behindADoor makes the job wait for its replacement behind a door that was made at that time
// before now.
func (w waitingPending) behindADoor(made time.Duration) {
	w.requeued()
	w.Nodes("alpha-a3-2", scenetest.PoweredDown)
	name := memo.DoorReservation("alpha", "7", noon.Add(-made))
	w.reserve(name, 14*time.Minute+30*time.Second, "alpha-a3-[0-1,3]", "PURGE_COMP=00:05:00")
	w.job().Reservation = name
}

func TestJobWaitsForItsReplacementUntilSalvageTimeout(t *testing.T) {
	w := newWaitingPending()
	w.salvaging()
	w.behindADoor(time.Minute)
	for i := range w.Snap.Instances {
		w.Snap.Instances[i].Terminates = noon.Add(220 * time.Minute)
	}
	assert.Empty(t, w.done())
	assert.Contains(t, w.inCompute(), "request 1 node (alpha-a3-3) in alpha-a3-job-7/a2 for 03:40:00")
	w.behindADoor(10 * time.Minute)
	w.Snap.Reservations = append(w.Snap.Reservations[:1], w.Snap.Reservations[2])
	for _, name := range scenetest.Names("alpha-a3-[0-1]") {
		w.Node(name).LastBusyTime = noon.Add(-10 * time.Minute)
	}
	assert.Equal(t, "delete reservation "+w.job().Reservation, w.done())
	again := w.job().Limit
	w.job().Limit.Duration = 4 * time.Hour
	w.Snap.Reservations[1].Name, w.job().Reservation = doorName, doorName
	assert.Equal(t, "delete reservation DOOR", w.done(), "the job's limit has grown")
	w.job().Limit = again
	w.Snap.Reservations, w.job().Reservation, w.job().Reason = w.Snap.Reservations[:1], "", "Priority"
	for i := range w.Snap.Instances {
		w.Snap.Instances[i].Terminates = time.Time{}
	}
	assert.Equal(t, "set nodes alpha-a3-[0-1] power_down", w.done(), "they are not kept again")
}

func TestDoorOfARequeuedJobOpensWhenSlurmLetsItStart(t *testing.T) {
	w := newWaitingPending()
	w.up("alpha-a3-[0-1]")
	w.job().Reason, w.job().Start = slurm.BeginTime, noon.Add(time.Second)
	assert.Empty(t, w.inSlurm())
	assert.Empty(t, sweeps.NearDoors(w.Scene()))
	w.job().Start = noon
	assert.Equal(t, "change reservation DOOR from 2026-11-21T12:00:00Z", w.inSlurm())
}

// endedIn returns the reservations and requests that a plan ends, and why.
func endedIn(p plan.Plan) map[string]string {
	ends := map[string]string{}
	for _, a := range p.Actions {
		switch a := a.(type) {
		case action.DeleteReservation:
			if memo.ParseHold(cluster, a.Name).Kind != memo.CoverHold {
				ends[a.Name] = a.Because()
			}
		case action.ReturnNodes:
			ends[a.Door] = a.Because()
		case action.CancelRequest:
			ends[a.Group.String()+"/"+a.Request] = a.Because()
		}
	}
	return ends
}

// The door and its request end in one pass, with one reason.
func TestRequestBehindAnEndedDoorEndsForTheDoorsReason(t *testing.T) {
	for why, change := range map[string]func(*slurm.Job){
		"its job is held":                          func(j *slurm.Job) { j.Priority, j.Reason = 0, "JobHeldUser" },
		"its job excludes alpha-a3-1 now":          func(j *slurm.Job) { j.Excludes = scenetest.Names("alpha-a3-1") },
		"its job asks for alpha-a3-2 now":          func(j *slurm.Job) { j.Needs = scenetest.Names("alpha-a3-2") },
		"its job waits for other jobs":             func(j *slurm.Job) { j.Reason = "Dependency" },
		"its job may not use these nodes any more": func(j *slurm.Job) { j.Partition = "other" },
		"its job uses another reservation":         func(j *slurm.Job) { j.Reservation = "theirs" },
	} {
		w := newWaitingPending()
		change(w.job())
		assert.NotContains(t, w.inCompute(), "request 2 nodes", why)
		w.Requested(7, "alpha-a3-[0-1]", 50*time.Second)
		ends := endedIn(w.plan())
		assert.Equal(t, map[string]string{doorName: why, "us-central1/alpha-a3-job-7/a1": why}, ends)
	}
}

func TestJobOfAPartitionThatOnlySlurmHasKeepsItsRequest(t *testing.T) {
	w := newWaitingPending()
	w.job().Partition = "removed"
	w.Requested(7, "alpha-a3-[0-1]", 50*time.Second)
	for i := range w.Snap.Nodes {
		w.Snap.Nodes[i].Partitions = []string{"removed"}
	}
	assert.Empty(t, endedIn(w.plan()))
}

func TestNodesThatOnlySlurmHasAreReported(t *testing.T) {
	w := newWaitingPending()
	for _, name := range []string{"alpha-a3-8", "beta-a3-0", "login"} {
		n := *w.Node("alpha-a3-3")
		n.Name = name
		w.Snap.Nodes = append(w.Snap.Nodes, n)
	}
	w.Node("login").State = slurm.ParseState("IDLE")
	assert.Contains(t, strings.Join(w.plan().Problems.Texts(), "\n"), "slurm.conf has alpha-a3-8,beta-a3-0 and the configuration lacks them")
}

func TestNodesReservedForOthersAreNamedWhileTheirJobIsQueued(t *testing.T) {
	w := newWaitingPending()
	w.Requested(7, "alpha-a3-[0-1]", 50*time.Second)
	w.reserve("theirs", 0, "alpha-a3-1", "MAINT")
	assert.Contains(t, strings.Join(w.plan().Problems.Texts(), "\n"), "job 7 waits at Google for machines of alpha-a3-1, which cannot be used now (drained, DOWN or reserved): before the machines exist, "+
		"run scontrol update nodename=alpha-a3-1 state=resume, or delete the admin's reservation; otherwise the job waits again")
}

package plan_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"slurmflex/flex/plan"
	"slurmflex/flex/plan/memo"
	"slurmflex/flex/plan/scene"
	"slurmflex/mig"
	"slurmflex/slurm"
	"slurmflex/test/scenetest"
)

// newCrowded returns a cluster of four nodes. Job 6 has two of them for another hour. Job 7 needs
// all four, and job 8, which is less important, needs one.
func newCrowded() waitingPending {
	w := newWaitingPending()
	w.Snap.Reservations = w.Snap.Reservations[:1]
	j := w.job()
	j.Reservation, j.Reason, j.NodeCount, j.Priority = "", "Resources", 4, 1000
	small := *j
	small.ID, small.ArrayID, small.NodeCount, small.Priority, small.Reason = 8, 8, 1, 1, "Priority"
	w.Snap.Jobs = append(w.Snap.Jobs, small)
	w.Nodes("alpha-a3-[0-1]", scenetest.Busy)
	w.Job(6, "train", "alpha-a3-[0-1]", slurm.JobRunning)
	running := &w.Snap.Jobs[2]
	running.Start, running.Limit = noon.Add(-time.Hour), slurm.Limit{Kind: slurm.LimitSet, Duration: 2 * time.Hour}
	return w
}

func TestFreeNodesAreSetAsideForAnImportantJob(t *testing.T) {
	const served = "have job 8 use"
	held := func(w waitingPending) string { return fmt.Sprintf("%+v", plan.Compute(w.Scene()).Held) }
	small := func(w waitingPending) *slurm.Job { return &w.Snap.Jobs[1] }

	w := newCrowded()
	small(w).Limit.Duration = time.Hour + time.Minute
	assert.NotContains(t, w.inSlurm(), served)
	assert.Contains(t, held(w), "it needs 4 nodes, and 2 of nodeset a3 are free")
	assert.Contains(t, held(w), "it needs 1 node, and 0 of nodeset a3 are free; others are kept for job 7, which is more important and needs 4")

	w = newCrowded()
	small(w).Limit.Duration = 59 * time.Minute
	assert.Contains(t, w.inSlurm(), served, "it ends before job 6")

	w = newCrowded()
	small(w).Limit = slurm.Limit{Kind: slurm.Unlimited}
	assert.NotContains(t, w.inSlurm(), served)

	w = newCrowded()
	w.Snap.Jobs[2].Start = noon.Add(-3 * time.Hour)
	assert.NotContains(t, w.inSlurm(), served, "job 6 should have ended")

	w = newCrowded()
	w.Nodes("alpha-a3-[0-1]", "DOWN+CLOUD+DRAIN")
	assert.Contains(t, w.inSlurm(), served, "job 7 cannot start soon")

	w = newCrowded()
	w.Nodes("alpha-a3-[0-1]", "IDLE+CLOUD+POWERING_DOWN")
	w.Node("alpha-a3-0").LastBusyTime, w.Node("alpha-a3-1").LastBusyTime = noon, noon
	w.Snap.Jobs = w.Snap.Jobs[:2]
	assert.NotContains(t, w.inSlurm(), served, "the nodes will be free soon")

	w = newCrowded()
	w.job().Excludes = "alpha-a3-3"
	assert.Contains(t, w.inSlurm(), served, "job 7 excludes one of the four")

	w = newCrowded()
	small(w).Limit.Duration = 3 * time.Hour
	w.job().NodeCount = 3
	assert.NotContains(t, w.inSlurm(), served)
	w.job().Excludes = "alpha-a3-3"
	assert.Contains(t, w.inSlurm(), served, "on the node that job 7 excludes")

	w = newCrowded()
	small(w).Limit.Duration = 3 * time.Hour
	w.job().NodeCount, w.job().Needs = 2, "alpha-a3-0"
	assert.Contains(t, w.inSlurm(), "reserve alpha-a3-3 ", "job 8 gets the node that job 7 does not need")
	w.Nodes("alpha-a3-0", "DOWN+CLOUD+DRAIN")
	assert.Contains(t, w.inSlurm(), "reserve alpha-a3-2 ", "job 7 requires a node that is out of service")
}

// machines adds machines of a job to nodes, with leases of four hours that started that long ago.
func (w waitingPending) machines(nodes string, job uint32, ago time.Duration) {
	group := fmt.Sprintf("alpha-a3-job-%d", job)
	w.Group(group, mig.Stamp{NodeSet: "a3", Job: job}, mig.Request{
		Name: "a1", State: mig.Succeeded, Instances: scenetest.Names(nodes), Duration: 4 * time.Hour, Created: noon.Add(-ago - time.Minute),
	})
	w.Machines(nodes, group)
	for i := range w.Snap.Instances {
		w.Snap.Instances[i].Created = noon.Add(-ago)
	}
}

func TestNodesAreSetAsideUntilMachinesEnd(t *testing.T) {
	const served = "have job 8 use"

	w := newCrowded()
	w.Snap.Jobs[1].Limit.Duration = 5 * 24 * time.Hour
	w.Snap.Jobs[2].Limit.Duration = 10 * 24 * time.Hour
	w.machines("alpha-a3-[0-1]", 6, 3*time.Hour)
	assert.NotContains(t, w.inSlurm(), served, "the leases of job 6 end in an hour")
}

func TestNodesSetAsideAreFreeForMoreImportantJobs(t *testing.T) {
	important := func(w waitingPending, id uint32) *slurm.Job {
		j := *w.job()
		j.ID, j.ArrayID, j.NodeCount, j.Priority, j.Limit.Duration = id, id, 1, 1_000_000, 3*time.Hour
		w.Snap.Jobs[1].Reason = "Dependency"
		w.Snap.Jobs = append(w.Snap.Jobs, j)
		return &w.Snap.Jobs[len(w.Snap.Jobs)-1]
	}
	w := newCrowded()
	important(w, 20)
	w.Snap.Late = map[uint32]scene.Late{20: {In: []string{"a3"}, Reason: "Resources", Until: noon.Add(-time.Minute)}}
	assert.Contains(t, w.inSlurm(), "have job 20 use", "Slurm chooses its nodes")

	w = newCrowded()
	for offset := range uint32(2) {
		part := important(w, 20+offset)
		part.HetID, part.HetOffset = 20, offset
	}
	assert.Contains(t, w.inSlurm(), "have job 20 use", "a heterogeneous job")
}

// sixBehindADoor puts job 6 behind a door over nodes 0 and 1 instead.
func (w waitingPending) sixBehindADoor(ago time.Duration) {
	w.Nodes("alpha-a3-[0-1]", scenetest.PoweredDown)
	door := memo.DoorReservation("alpha", "6", noon.Add(-ago))
	w.reserve(door, 4*time.Minute+30*time.Second, "alpha-a3-[0-1]", "PURGE_COMP=00:05:00")
	j := *w.job()
	j.ID, j.ArrayID, j.NodeCount, j.Priority, j.Reason, j.Reservation = 6, 6, 2, 2000, "Reservation", door
	j.Limit.Duration = 2 * time.Hour
	w.Snap.Jobs[2] = j
}

func TestNodesThatSoonBecomeFreeCountForAnImportantJob(t *testing.T) {
	const served = "have job 8 use"
	without6 := func(w *waitingPending) {
		w.Snap.Jobs = w.Snap.Jobs[:2]
		w.Nodes("alpha-a3-[0-1]", scenetest.PoweredDown)
	}
	first := func(w *waitingPending) *slurm.Job {
		without6(w)
		j := w.Snap.Jobs[1]
		j.ID, j.ArrayID, j.NodeCount, j.Priority, j.Limit.Duration = 6, 6, 2, 2000, 2*time.Hour
		w.Snap.Jobs = append(w.Snap.Jobs, j)
		return &w.Snap.Jobs[2]
	}
	for name, given := range map[string]func(*waitingPending){
		"their job waits behind a door": func(w *waitingPending) { w.sixBehindADoor(time.Hour) },
		"their machines still stop": func(w *waitingPending) {
			without6(w)
			w.machines("alpha-a3-[0-1]", 6, time.Hour)
			for i := range w.Snap.Instances {
				w.Snap.Instances[i].Status = "STOPPING"
			}
			w.Node("alpha-a3-0").LastBusyTime, w.Node("alpha-a3-1").LastBusyTime = noon.Add(-20*time.Minute), noon.Add(-20*time.Minute)
		},
		"they rise although their job was cancelled": func(w *waitingPending) {
			without6(w)
			w.Group("alpha-a3-job-6", mig.Stamp{NodeSet: "a3", Job: 6}, mig.Request{
				Name: "a1", State: mig.Accepted, Instances: scenetest.Names("alpha-a3-[0-1]"), Duration: 4 * time.Hour, Created: noon.Add(-time.Hour),
			})
			w.Nodes("alpha-a3-[0-1]", "IDLE+CLOUD+NOT_RESPONDING+POWERING_UP")
			w.Node("alpha-a3-0").LastBusyTime, w.Node("alpha-a3-1").LastBusyTime = noon, noon
		},
		"a more important job gets them in this pass": func(w *waitingPending) { first(w) },
		"tasks of an array have doors": func(w *waitingPending) {
			array := first(w)
			array.NodeCount, array.ArrayTask = 1, "0-1"
			for i := range 2 {
				door := memo.DoorReservation("alpha", fmt.Sprintf("6_%d", i), noon.Add(-10*time.Second))
				w.reserve(door, 4*time.Minute+30*time.Second, fmt.Sprintf("alpha-a3-%d", i), "PURGE_COMP=00:05:00")
			}
		},
		"Slurm chooses them for a heterogeneous job": func(w *waitingPending) {
			part := first(w)
			part.NodeCount, part.HetID = 1, 6
			part.Reservation = memo.ColdReservation("alpha", "6", noon.Add(-10*time.Second))
			second := *part
			second.ID, second.ArrayID, second.HetOffset = 26, 26, 1
			w.Snap.Jobs = append(w.Snap.Jobs, second)
			w.reserve(part.Reservation, -10*time.Second, "alpha-a3-[0-1]", "PURGE_COMP=00:05:00")
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newCrowded()
			w.Snap.Jobs[1].Limit.Duration = 3 * time.Hour
			given(&w)
			assert.NotContains(t, w.inSlurm(), served)
		})
	}
}

func TestNoMoreNodesAreSetAsideThanHelp(t *testing.T) {
	const served = "have job 8 use"
	for name, given := range map[string]func(waitingPending){
		"a job behind a door has waited for longer than its limit": func(w waitingPending) {
			w.sixBehindADoor(48 * time.Hour)
			w.Snap.Jobs[1].Limit.Duration = 5 * time.Minute
		},
		"tasks of an array require one node, and run one after another": func(w waitingPending) {
			w.Nodes("alpha-a3-1", scenetest.PoweredDown)
			w.Snap.Jobs[2].Nodes = scenetest.Names("alpha-a3-0")
			w.job().NodeCount, w.job().Needs, w.job().ArrayTask = 2, "alpha-a3-0", "0-9"
		},
		"a CONFIGURING job has waited for longer than its limit": func(w waitingPending) {
			w.Snap.Jobs[1].Limit.Duration = 5 * time.Minute
			w.Snap.Jobs[2].State, w.Snap.Jobs[2].Start = slurm.JobConfiguring, noon.Add(-10*time.Hour)
			w.Nodes("alpha-a3-[0-1]", scenetest.PoweringUp)
		},
		"a job is suspended": func(w waitingPending) { w.Snap.Jobs[2].State = slurm.JobSuspended },
		"enough nodes are free in two days": func(w waitingPending) {
			w.Config.FlexSets()[0].Flex.MaxRunDuration = 7 * 24 * time.Hour
			w.Snap.Jobs[2].Limit.Duration = 49 * time.Hour
		},
		"a job runs without end": func(w waitingPending) {
			w.Config.FlexSets()[0].Flex.MaxRunDuration = 0
			w.Snap.Jobs[2].Limit = slurm.Limit{Kind: slurm.Unlimited}
		},
		"Slurm gives idle machines to less important jobs": func(w waitingPending) { w.keep() },
		"a machine stops for ever": func(w waitingPending) {
			w.Nodes("alpha-a3-[0-1]", scenetest.PoweredDown)
			w.Snap.Jobs = w.Snap.Jobs[:2]
			w.machines("alpha-a3-0", 5, 20*time.Hour)
			w.Snap.Instances[0].Status = "STOPPING"
		},
		"slurmctld makes no reservation for the job": func(w waitingPending) {
			w.Snap.Late = map[uint32]scene.Late{7: {Until: noon.Add(-time.Minute), Unknown: true}}
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newCrowded()
			w.Snap.Jobs[1].Limit.Duration = 3 * time.Hour
			given(w)
			assert.Contains(t, w.inSlurm(), served)
		})
	}
}

// A less important job could get the static node as soon as it is idle.
func TestNoNodesAreSetAsideForAJobThatAlsoNeedsAStaticNode(t *testing.T) {
	w := newNextToStatic(3)
	w.job().Priority = 1000
	small := *w.job()
	small.ID, small.ArrayID, small.NodeCount, small.Priority, small.Reason, small.Limit.Duration = 8, 8, 1, 1, "Priority", 3*time.Hour
	w.Snap.Jobs = append(w.Snap.Jobs, small)
	w.Nodes("alpha-a3-0", scenetest.Busy)
	running := w.Job(6, "train", "alpha-a3-0", slurm.JobRunning)
	running.Start, running.Limit = noon.Add(-time.Hour), slurm.Limit{Kind: slurm.LimitSet, Duration: 2 * time.Hour}
	w.Nodes("alpha-a3-1", "DOWN+CLOUD+DRAIN")
	assert.Contains(t, w.inSlurm(), "have job 8 use", "job 7 needs the static node")

	w.Nodes("alpha-a3-1", scenetest.Busy)
	w.Snap.Jobs[2].Nodes = scenetest.Names("alpha-a3-[0-1]")
	assert.NotContains(t, w.inSlurm(), "have job 8 use", "job 7 can do without it")
}

func TestNamesOfOneShareAreNotDueInAnother(t *testing.T) {
	w := waitingPendingIn("node_count_dynamic_max: 8")
	w.Config.FlexSets()[0].Flex.MaxRunDuration = 7 * 24 * time.Hour
	w.Snap.Reservations = w.Snap.Reservations[:1]
	w.Snap.Reservations[0].Nodes = scenetest.Names("alpha-a3-[1-7]")
	w.Snap.Partitions[0].Nodes = scenetest.Names("alpha-a3-[0-7]")
	w.Nodes("alpha-a3-[0-7]", scenetest.PoweredDown)
	w.Nodes("alpha-a3-0", scenetest.Busy)
	pinned := w.job()
	pinned.Reservation, pinned.Reason, pinned.NodeCount, pinned.Priority, pinned.Needs = "", "Resources", 2, 1000, "alpha-a3-0"
	big := *pinned
	big.ID, big.ArrayID, big.NodeCount, big.Priority, big.Needs, big.Limit.Duration = 9, 9, 7, 500, "", 7*24*time.Hour
	small := big
	small.ID, small.ArrayID, small.NodeCount, small.Priority, small.Limit.Duration = 8, 8, 2, 1, 5*time.Minute
	w.Snap.Jobs = append(w.Snap.Jobs, big, small)
	running := w.Job(6, "train", "alpha-a3-0", slurm.JobRunning)
	running.Start, running.Limit = noon.Add(-4*time.Hour), slurm.Limit{Kind: slurm.LimitSet, Duration: 24 * time.Hour}
	assert.Contains(t, w.inSlurm(), "have job 8 use", "job 9 needs a node that is kept for job 7")
}

func TestMachinesAreNotSetAside(t *testing.T) {
	w := newCrowded()
	w.Snap.Jobs[1].Limit.Duration = 150 * time.Minute
	w.Nodes("alpha-a3-3", "IDLE+CLOUD+RESERVED")
	w.machines("alpha-a3-3", 5, 10*time.Minute)
	w.reserve(memo.DoorReservation("alpha", "5", noon.Add(-time.Hour)), 4*time.Minute+30*time.Second, "alpha-a3-3", "PURGE_COMP=00:05:00")
	assert.NotContains(t, w.inSlurm(), "set nodes alpha-a3-3 power_down", "job 8 fits the machine and its lease")
}

func TestJobThatKeepsMachinesGetsItsOtherNodes(t *testing.T) {
	for _, needs := range []string{"", "alpha-a3-0", "alpha-a3-[0-1]"} {
		w := newWaitingPending()
		w.salvaging()
		w.requeued()
		w.job().NodeCount, w.job().Reason, w.job().Needs = 4, "ReqNodeNotAvail", needs
		w.Nodes("alpha-a3-2", scenetest.PoweredDown)
		w.Snap.Reservations[0].Nodes = scenetest.Names("alpha-a3-[0-3]")
		small := *w.job()
		small.ID, small.ArrayID, small.NodeCount, small.Priority, small.Reason, small.Limit.Duration, small.Needs = 8, 8, 1, 1, "Priority", 3*time.Hour, ""
		w.Snap.Jobs = append(w.Snap.Jobs, small)
		w.Nodes("alpha-a3-3", scenetest.Busy)
		w.Job(6, "train", "alpha-a3-3", slurm.JobRunning)
		w.Snap.Jobs[2].Start, w.Snap.Jobs[2].Limit = noon.Add(-time.Hour), slurm.Limit{Kind: slurm.LimitSet, Duration: time.Hour + time.Minute}
		assert.NotContains(t, w.inSlurm(), "have job 8 use", "job 7 can start in a minute; it requires: "+needs)
	}
}

func TestNodesAreSetAsideInThePlaceThatIsFreeFirst(t *testing.T) {
	w := newSeveralPlaces("")
	w.Snap.Jobs[0].Partition, w.Snap.Jobs[0].Priority = "us,eu", 1000
	for i, set := range []string{"us", "eu"} {
		w.Nodes("alpha-"+set+"-0", scenetest.Busy)
		r := w.Job(uint32(20+i), set, "alpha-"+set+"-0", slurm.JobRunning)
		r.Start, r.Limit = noon.Add(-time.Hour), slurm.Limit{Kind: slurm.LimitSet, Duration: []time.Duration{8 * 24 * time.Hour, time.Hour + 5*time.Minute}[i]}
	}
	small := w.submit(8, "eu")
	small.NodeCount, small.Priority, small.Limit.Duration = 1, 1, 24*time.Hour
	assert.NotContains(t, fmt.Sprint(plan.Compute(w.Scene()).Actions), "have job 8 use", "in eu in five minutes")
}

func TestReasonsTellForWhichJobNodesAreKept(t *testing.T) {
	reasons := func(w waitingPending) (text string) {
		for _, h := range plan.Compute(w.Scene()).Held {
			text += fmt.Sprintf("%d: %s\n", h.Job, h.Obstacle)
		}
		return text
	}
	w := newCrowded()
	w.job().Needs = "alpha-a3-2"
	assert.Contains(t, reasons(w), "7: it needs 4 nodes, and 2 of nodeset a3 are free")

	w = newCrowded()
	w.Snap.Jobs[1].Limit.Duration, w.Snap.Jobs[1].Needs = 3*time.Hour, "alpha-a3-2"
	assert.Contains(t, reasons(w), "8: it asks for alpha-a3-2, kept for job 7, which is more important and needs 4\n")

	w = newCrowded()
	small := &w.Snap.Jobs[1]
	small.NodeCount, small.Priority, small.Limit.Duration = 2, 2, 59*time.Minute
	third := *small
	third.ID, third.ArrayID, third.NodeCount, third.Priority, third.Limit.Duration = 9, 9, 1, 1, 5*time.Hour
	w.Snap.Jobs = append(w.Snap.Jobs, third)
	assert.Contains(t, reasons(w), "9: it needs 1 node, and 0 of nodeset a3 are free\n", "job 8 has all of them")
}

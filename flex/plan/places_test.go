package plan_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"slurmflex/flex/plan/action"
	"slurmflex/flex/plan/memo"
	"slurmflex/flex/plan/scene"
	"slurmflex/mig"
	"slurmflex/slurm"
	"slurmflex/test/scenetest"
)

// severalPlaces is a cluster with three partitions of two nodes each. Job 7 lists all three
// partitions and waits for two machines.
type severalPlaces struct{ pendingWorld }

func newSeveralPlaces() severalPlaces { return severalPlacesOf(2) }

// severalPlacesOf returns that cluster with partitions of another size.
func severalPlacesOf(size int) severalPlaces {
	dynamic, nodes := fmt.Sprintf("node_count_dynamic_max: %d", size), fmt.Sprintf("-[0-%d]", size-1)
	w := severalPlaces{pendingWorld{scenetest.New(scenetest.Cluster(
		"partitions:\n  us: {enable_job_exclusive: true, partition_nodeset: [us]}\n  eu: {enable_job_exclusive: true, partition_nodeset: [eu]}\n"+
			"  od: {enable_job_exclusive: true, partition_nodeset: [od]}\nslurmflex: {waiting: pending}",
		scenetest.FlexSet("us", "us-central1-a", dynamic, ""), scenetest.FlexSet("eu", "us-central1-a", dynamic, ""),
		strings.Replace(scenetest.FlexSet("od", "us-central1-a", dynamic, ""), "dws_flex: {}", "capacity: on_demand", 1)))}}
	w.Snap.Promises, w.Snap.SuspendTime = true, 5*time.Minute
	for _, name := range []string{"us", "eu", "od"} {
		w.Snap.Templates[w.Config.FlexSetOf("alpha-"+name+"-0").Template] = scenetest.FlexTemplate("a3-highgpu-8g")
		w.Nodes("alpha-"+name+nodes, scenetest.PoweredDown)
		w.Snap.Partitions = append(w.Snap.Partitions, slurm.Partition{Name: name, Exclusive: true, Up: true, Begins: true, MaxTime: slurm.Limit{Kind: slurm.Unlimited}, Nodes: scenetest.Names("alpha-" + name + nodes)})
	}
	w.submit(7, "us,eu,od")
	w.reserve(coverName, -10*time.Minute, strings.ReplaceAll("alpha-euN,alpha-odN,alpha-usN", "N", nodes), "PURGE_COMP=00:16:00")
	return w
}

func (w severalPlaces) submit(id uint32, partitions string) *slurm.Job {
	w.Snap.Jobs = append(w.Snap.Jobs, slurm.Job{
		ID: id, ArrayID: id, State: slurm.JobPending, Priority: uint64(id), NodeCount: 2, Partition: partitions, User: "ann", Reason: "Resources",
		Limit: slurm.Limit{Kind: slurm.LimitSet, Duration: time.Hour},
	})
	w.Snap.Records[id] = scenetest.Requeued
	return &w.Snap.Jobs[len(w.Snap.Jobs)-1]
}

// euDoor is the second door of job 7 that was made a minute ago. The first is doorName.
var euDoor = memo.FurtherDoor(doorName, 1)

// waits makes two doors for job 7 that long ago: one in us, which the job uses, and one in eu.
func (w severalPlaces) waits(ago time.Duration) (us, eu string) {
	us = memo.DoorReservation("alpha", "7", noon.Add(-ago))
	eu = memo.FurtherDoor(us, 1)
	w.reserve(us, 15*time.Minute, "alpha-us-[0-1]")
	w.reserve(eu, 15*time.Minute, "alpha-eu-[0-1]")
	w.job().Reservation, w.job().Reason = us, "Reservation"
	return us, eu
}

// waitsInUS makes only the first of these doors.
func (w severalPlaces) waitsInUS() {
	w.waits(time.Minute)
	w.Snap.Reservations = w.Snap.Reservations[:2]
}

// made creates machines for job 7 and sets the state of their nodes.
func (w severalPlaces) made(set, state string) {
	w.Nodes("alpha-"+set+"-[0-1]", state)
	w.Group("alpha-"+set+"-job-7", mig.Stamp{NodeSet: set, Job: 7}).Created = noon
	w.Machines("alpha-"+set+"-[0-1]", "alpha-"+set+"-job-7")
}

// crowded takes all nodes of the cheaper nodesets out of service, which job 7 has waited for.
func (w severalPlaces) crowded(since time.Duration) {
	w.Nodes("alpha-us-[0-1]", "DOWN+CLOUD+POWERED_DOWN")
	w.Nodes("alpha-eu-[0-1]", "DOWN+CLOUD+POWERED_DOWN")
	w.Snap.Crowded = map[uint32]time.Time{7: noon.Add(-since)}
}

// reservations lists a plan's actions on reservations, without covers and with names for the doors.
func (w severalPlaces) reservations() string {
	names := strings.NewReplacer(euDoor, "EU", doorName, "US", newDoor("7"), "FIRST", newDoor("6"), "SIX")
	return names.Replace(withoutDigests(w.texts(func(a action.Action) bool { return !does[action.SetNodes](a) && isOnDoors(a) })))
}

// Slurm does not show yet that job 8 uses its door: its request comes in a later pass.
func TestSecondPlaceLeavesTheLastRequestToAJobThatHasJustGotItsDoor(t *testing.T) {
	for most, want := range map[int]int{2: 0, 3: 1} {
		w := severalPlacesOf(4)
		w.Config.Options.MaxActiveRequests = most
		w.waits(time.Minute)
		w.Requested(7, "alpha-us-[0-1]", 50*time.Second)
		w.Group("alpha-eu-job-7", mig.Stamp{NodeSet: "eu", Job: 7})
		w.submit(8, "us")
		w.reserve(memo.DoorReservation("alpha", "8", noon), 15*time.Minute, "alpha-us-[2-3]")
		made := 0
		for _, a := range w.plan().Actions {
			if _, is := a.(action.CreateRequest); is {
				made++
			}
		}
		assert.Equal(t, want, made, most)
	}
}

// The last request is kept for a nodeset without one, so that the first place of job 10 waits.
func TestSecondPlaceLeavesTheKeptRequestToOtherJobs(t *testing.T) {
	w := severalPlacesOf(8)
	w.Config.Options.MaxActiveRequests = 4
	w.waits(time.Minute)
	w.Requested(7, "alpha-us-[0-1]", 50*time.Second)
	w.Group("alpha-eu-job-7", mig.Stamp{NodeSet: "eu", Job: 7})
	for id, nodes := range map[uint32]string{8: "alpha-us-[2-3]", 9: "alpha-us-[4-5]", 10: "alpha-us-[6-7]"} {
		door := memo.DoorReservation("alpha", fmt.Sprint(id), noon)
		w.submit(id, "us").Reservation = door
		w.reserve(door, 15*time.Minute, nodes)
		if id < 10 {
			w.Requested(id, nodes, 40*time.Second)
		}
	}
	assert.NotContains(t, w.inCompute(), "request 2 nodes")
}

func TestPendingJobWaitsInAllItsPartitions(t *testing.T) {
	const us, eu, od = "reserve alpha-us-[0-1]" + inAQuarter, "reserve alpha-eu-[0-1]" + inAQuarter, "reserve alpha-od-[0-1]" + inAQuarter
	const uses = "\nhave job 7 use reservation FIRST"
	cases[severalPlaces]{
		"where Slurm has planned it first": {nil, us + uses},
		"then in the next one":             {severalPlaces.waitsInUS, eu},
		"dearer ones are the only ones":    {func(w severalPlaces) { w.job().Partition = "od" }, od + uses},
		"in the next one at once if the nodes of the first are out of service": {func(w severalPlaces) {
			w.Config.FlexSetOf("alpha-us-0").Flex.FailoverAfter = time.Hour
			w.Nodes("alpha-us-[0-1]", "DOWN+CLOUD+POWERED_DOWN")
		}, eu + uses},
		"unless a limit keeps it out": {func(w severalPlaces) {
			w.waitsInUS()
			w.Snap.Partitions[0].PerNode, w.Snap.Partitions[1].PerNode = map[string]int64{"gres/gpu": 2}, map[string]int64{"gres/gpu": 8}
			w.charged(slurm.Charge{Account: "ml"})
			w.Snap.Allowances.Associations = map[slurm.AssociationKey]*slurm.Association{
				{Account: "ml", User: "ann"}: {Account: "ml", Allowances: []slurm.Allowance{{Limit: "GrpTRES", Of: "gres/gpu", Most: 4}}},
			}
		}, ""},
		"after all first places":                           {func(w severalPlaces) { w.submit(6, "eu,us") }, us + uses + "\n" + eu + "\nhave job 6 use reservation SIX"},
		"in a dearer one after on_demand_after":            {func(w severalPlaces) { w.waits(30 * time.Minute) }, od},
		"and stays out of it before":                       {func(w severalPlaces) { w.waits(29 * time.Minute) }, ""},
		"in a dearer one after as long without free nodes": {func(w severalPlaces) { w.crowded(30 * time.Minute) }, od + uses},
		"and not before":                                   {func(w severalPlaces) { w.crowded(29 * time.Minute) }, ""},
		"nor because it is the first of its list": {func(w severalPlaces) {
			w.crowded(29 * time.Minute)
			w.job().Partition = "od,us,eu"
			w.Snap.Unasked = map[uint32]time.Time{7: noon.Add(-29 * time.Minute)}
		}, ""},
		"its machines come in one": {func(w severalPlaces) {
			w.waits(30 * time.Minute)
			w.made("us", "IDLE+CLOUD+POWERED_DOWN")
		}, ""},
	}.run(t, newSeveralPlaces, severalPlaces.reservations)
}

// inAQuarter is when a new door starts.
const inAQuarter = " from 2026-11-21T12:15:00Z"

func TestPendingJobWaitsInNoFurtherPartition(t *testing.T) {
	for name, given := range map[string]func(w severalPlaces){
		"before failover_after":                 func(w severalPlaces) { w.Config.FlexSetOf("alpha-us-0").Flex.FailoverAfter = time.Hour },
		"where it is not certain to fit":        func(w severalPlaces) { w.job().Gres = "gres/gpu:h100:8" },
		"if it names alternatives":              func(w severalPlaces) { w.job().Features = "[rack1 rack2]" },
		"if it chooses nodes by their switches": func(w severalPlaces) { w.charged(slurm.Charge{ByPosition: true}) },
		"if it requests GPUs, but not per node": func(w severalPlaces) { w.charged(slurm.Charge{ByHardware: true}) },
		"while it is not known how it chooses":  func(w severalPlaces) { w.Snap.AllowancesErr = errors.New("squeue") },
		"that is closed":                        func(w severalPlaces) { w.Snap.Partitions[1].Begins = false },
		"that is for some users only":           func(w severalPlaces) { w.Snap.Partitions[1].Restricts = "AllowGroups" },
	} {
		t.Run(name, func(t *testing.T) {
			w := newSeveralPlaces()
			w.waitsInUS()
			given(w)
			assert.Empty(t, w.reservations())
		})
	}
}

func TestPendingJobUsesItsMostAdvancedDoor(t *testing.T) {
	cases[severalPlaces]{
		"machines in its second place exist": {func(w severalPlaces) {
			w.made("eu", "IDLE+CLOUD+POWERED_DOWN")
		}, "have job 7 use reservation EU"},
		"machines exist in both": {func(w severalPlaces) {
			w.made("eu", "IDLE+CLOUD+POWERED_DOWN")
			w.made("us", "IDLE+CLOUD+POWERED_DOWN")
		}, ""},
		"machines in its second place are up": {func(w severalPlaces) {
			w.made("us", "IDLE+CLOUD+POWERED_DOWN")
			w.made("eu", "IDLE+CLOUD+RESERVED")
			w.job().Reservation = euDoor
		}, "change reservation EU from 2026-11-21T12:00:00Z"},
		"its second place has opened": {func(w severalPlaces) {
			w.made("eu", "IDLE+CLOUD+RESERVED")
			w.job().Reservation = euDoor
			w.Snap.Reservations[2].Start = noon.Add(-time.Second)
		}, ""},
		"machines of both are up": {func(w severalPlaces) {
			w.made("us", "IDLE+CLOUD+RESERVED")
			w.made("eu", "IDLE+CLOUD+RESERVED")
			w.job().Reservation = euDoor
		}, "change reservation EU from 2026-11-21T12:00:00Z"},
		"its owner removes the second place": {func(w severalPlaces) { w.job().Partition = "us" }, "delete reservation EU"},
	}.run(t, func() severalPlaces {
		w := newSeveralPlaces()
		w.waits(time.Minute)
		return w
	}, severalPlaces.reservations)
}

// An admin closes partition us: job 7 must not wait there, nor lose its place in eu to machines that come in us.
func TestDoorEndsIfItsPartitionStartsNoJobs(t *testing.T) {
	cases[severalPlaces]{
		"without machines": {nil, "delete reservation US"},
		"not if it has opened": {func(w severalPlaces) {
			w.made("us", "IDLE+CLOUD+RESERVED")
			w.Snap.Reservations[1].Start = noon.Add(-time.Second)
		}, ""},
		"not if it starts jobs but accepts no new ones": {func(w severalPlaces) { w.Snap.Partitions[0].Begins = true }, ""},
		"not if the partition could not be read":        {func(w severalPlaces) { w.Snap.Partitions = w.Snap.Partitions[1:] }, ""},
		"not if a node could not be read":               {func(w severalPlaces) { w.Snap.Nodes[0].State = slurm.ParseState("IDLE+CLOUD+MYSTERY") }, ""},
	}.run(t, func() severalPlaces {
		w := newSeveralPlaces()
		w.job().Partition = "us,eu"
		w.waits(time.Minute)
		w.Snap.Partitions[0].Up, w.Snap.Partitions[0].Begins = false, false
		return w
	}, severalPlaces.reservations)
}

// gpuLimited leaves job 7 10 GPUs under a limit of its account. In us a node has 8, in eu one.
func (w severalPlaces) gpuLimited(list string) {
	w.job().Partition = list
	w.Snap.Partitions[0].PerNode, w.Snap.Partitions[1].PerNode = map[string]int64{"gres/gpu": 8}, map[string]int64{"gres/gpu": 1}
	parent := &slurm.Association{Account: "ml", Allowances: []slurm.Allowance{{Limit: "GrpTRES", Of: "gres/gpu", Most: 20, Used: 10}}}
	ann := &slurm.Association{Parent: parent, Account: "ml", UID: "5"}
	w.Snap.Allowances = slurm.Allowances{
		Associations: map[slurm.AssociationKey]*slurm.Association{{Account: "ml"}: parent, {Account: "ml", User: "ann"}: ann},
		QOS:          map[string]*slurm.QOS{"normal": {}}, Charges: map[uint32]slurm.Charge{7: {Account: "ml", QOS: "normal"}},
	}
}

func TestJobWaitsOnlyInPartitionsWhereLimitsAllowIt(t *testing.T) {
	const eu = "reserve alpha-eu-[0-1] from 2026-11-21T12:15:00Z\nhave job 7 use reservation FIRST"
	limit := func(w severalPlaces) *slurm.Allowance {
		return &w.Snap.Allowances.Associations[slurm.AssociationKey{Account: "ml"}].Allowances[0]
	}
	idle := func(w severalPlaces) {
		w.Config.FlexSetOf("alpha-us-0").Flex.KeepIdle = time.Hour
		w.Nodes("alpha-us-[0-1]", scenetest.Idle)
		w.covers("alpha-eu-[0-1],alpha-od-[0-1]")
	}
	for name, test := range map[string]struct {
		list  string
		given func(w severalPlaces)
		want  string
	}{
		"its first place is beyond a limit": {"us,eu", func(severalPlaces) {}, eu},
		"its second one is":                 {"eu,us", func(severalPlaces) {}, eu},
		"its own first place does not count in the second": {"eu,us", func(w severalPlaces) {
			limit(w).Most = 26
			w.job().Reservation, w.job().Reason = newDoor("7"), "Reservation"
			w.reserve(newDoor("7"), 15*time.Minute, "alpha-eu-[0-1]")
		}, "reserve alpha-us-[0-1] from 2026-11-21T12:15:00Z"},
		"a limit is reached in all its places": {"us,eu", func(w severalPlaces) { idle(w); limit(w).Used = 20 }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			w := newSeveralPlaces()
			w.gpuLimited(test.list)
			test.given(w)
			assert.Equal(t, test.want, w.reservations())
		})
	}
}

// At first, only one of the two doors is hopeless. Then both are.
func TestJobIsHeldOnlyIfNoPartitionCanServeIt(t *testing.T) {
	w := newSeveralPlaces()
	w.waits(time.Minute)
	refuse := func(group string) {
		w.Snap.Refused[group] = scene.Refusal{Trouble: mig.Trouble{Cause: mig.CauseConfig, Message: "no such template"}, At: noon.Add(-10 * time.Second), Times: 1}
	}
	refuse("alpha-us-job-7")
	assert.NotContains(t, w.inCompute(), "and hold job 7")
	refuse("alpha-eu-job-7")
	assert.Contains(t, w.inCompute(), "and hold job 7")
}

package plan_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"slurmflex/flex/plan/action"
	"slurmflex/mig"
	"slurmflex/slurm"
	"slurmflex/test/scenetest"
)

// lossWithOpenNodes makes job 7 lose a machine while keep_idle keeps the others out of the cover.
func lossWithOpenNodes() waitingPending {
	w := newWaitingPending()
	w.salvaging()
	w.lose()
	w.keep()
	w.covers("alpha-a3-3")
	return w
}

const (
	lostDown = "set nodes alpha-a3-2 down"
)

func TestJobKeepsMachinesOnlyIfItCanStartOnThemAgain(t *testing.T) {
	cases[waitingPending]{
		"it can":                              {nil, ""},
		"its limit is longer than the leases": {func(w waitingPending) { w.job().Limit.Duration = 4 * time.Hour }, lostDown},
		"it is unlimited":                     {func(w waitingPending) { w.job().Limit = slurm.Limit{Kind: slurm.Unlimited} }, lostDown},
		"it asks for certain nodes":           {func(w waitingPending) { w.job().Needs = scenetest.Names("alpha-a3-0") }, lostDown},
		"it has a reservation":                {func(w waitingPending) { w.job().Reservation = "theirs" }, lostDown},
		"it is part of a heterogeneous job":   {func(w waitingPending) { w.job().HetID = 7 }, lostDown},
		"Slurm would not requeue it":          {func(w waitingPending) { w.Snap.Records[7] = slurm.JobRecord{Batch: true} }, lostDown},
		"salvage is off":                      {func(w waitingPending) { w.Config.FlexSetOf("alpha-a3-0").Flex.Salvage = false }, lostDown},
		"the others are marked to go":         {func(w waitingPending) { w.Nodes("alpha-a3-[0-1]", "ALLOCATED+CLOUD+POWER_DOWN") }, lostDown},
		"one list alone lacks its machine":    {func(w waitingPending) { w.Snap.Missed = nil }, ""},
		"a job that cannot be read may share a node": {func(w waitingPending) {
			w.Snap.Unread = slurm.Unread{{Kind: slurm.JobRow, Nodes: scenetest.Names("alpha-a3-0"), NodesKnown: true}}
		}, lostDown},
		"another machine may be lost": {func(w waitingPending) { w.Snap.Instances = w.Snap.Instances[:1] }, lostDown},
	}.run(t, lossWithOpenNodes, waitingPending.inSlurm)
}

func TestReplacementMatchesPlacementAndLeaseOfTheOthers(t *testing.T) {
	w := newWaitingPending()
	set := w.Config.FlexSetOf("alpha-a3-0")
	set.Zones, set.Placement, set.PlacementDistance = []string{"us-central1-a", "us-central1-b"}, true, 2
	w.Snap.Templates[set.Template] = scenetest.FlexTemplate("a3-ultragpu-8g")
	w.salvaging()
	w.behindADoor(time.Minute)
	for i := range w.Snap.Instances {
		w.Snap.Instances[i].Terminates = noon.Add(220 * time.Minute)
	}
	w.Snap.Groups[0].Zones, w.Snap.Groups[0].Policy = set.Zones, "alpha-a3-job-7"
	w.Snap.Policies = []mig.Policy{{Name: "alpha-a3-job-7", Region: "us-central1", Stamp: w.Snap.Groups[0].Stamp}}
	var group mig.GroupSpec
	var request mig.RequestSpec
	for _, a := range w.plan().Actions {
		switch a := a.(type) {
		case action.CreateGroup:
			group = a.Spec
		case action.CreateRequest:
			request = a.Spec
		}
	}
	assert.Equal(t, "alpha-a3-job-7-r1", group.Name, "a group keeps its zones for good")
	assert.Equal(t, []string{"us-central1-a"}, group.Zones)
	assert.Equal(t, "alpha-a3-job-7", group.Policy)
	assert.Equal(t, []string{"alpha-a3-3"}, request.Instances)
	assert.Equal(t, 220*time.Minute, request.Duration)
}

func TestSurvivorsAreReleasedIfTheirPartitionStartsNoJobs(t *testing.T) {
	w := newWaitingPending()
	w.salvaging()
	w.requeued()
	w.Nodes("alpha-a3-2", scenetest.PoweredDown)
	assert.Contains(t, w.inSlurm(), "reserve alpha-a3-[0-2]")
	w.Snap.Partitions[0].Begins = false
	assert.NotContains(t, w.inSlurm(), "reserve")
}

// SuspendTime also counts behind a door.
func TestUnreadRegionOpensADoorBeforeItsFirstMachineIsPoweredDown(t *testing.T) {
	w := newWaitingPending()
	w.Config.FlexSetOf("alpha-a3-0").Flex.Salvage = true
	w.up("alpha-a3-0")
	n := w.Node("alpha-a3-0")
	n.LastBusyTime, n.BootTime = noon.Add(-10*time.Second), noon.Add(-20*time.Second)
	w.unread()
	assert.Contains(t, w.inSlurm(), "change reservation DOOR from 2026-11-21T12:03:50Z")
}

// unread makes the reading of the region fail.
func (w waitingPending) unread() {
	w.Snap.Unseen[scenetest.US] = assert.AnError
	w.Snap.Instances, w.Snap.Groups = nil, nil
}

// The survivors have been idle for longer than SuspendTime, which opens other doors.
func TestUnreadRegionDoesNotOpenADoorOverSurvivors(t *testing.T) {
	for name, given := range map[string]func(waitingPending){"read": func(waitingPending) {}, "unread": waitingPending.unread} {
		w := newWaitingPending()
		w.salvaging()
		w.behindADoor(8 * time.Minute)
		for _, survivor := range scenetest.Names("alpha-a3-[0-1]") {
			w.Node(survivor).LastBusyTime = noon.Add(-8 * time.Minute)
		}
		given(w)
		assert.NotContains(t, w.inSlurm(), " from ", name)
	}
}

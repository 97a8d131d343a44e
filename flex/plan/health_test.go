package plan_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"slurmflex/flex/plan/action"
	"slurmflex/flex/plan/scene"
	"slurmflex/slurm"
	"slurmflex/test/scenetest"
)

// newChecked is a cluster where job 7 waits for two machines that have registered a minute ago and
// are checked. why and note are the Reason and the Comment of alpha-a3-1.
func newChecked(state, why, note string) waitingPending {
	w := newWaitingPending()
	w.Config.FlexSetOf("alpha-a3-0").Flex.HealthCheck = 2 * time.Minute
	w.Snap.SuspendTime = 0
	w.up("alpha-a3-[0-1]")
	for i := range w.Snap.Nodes[:2] {
		w.Snap.Nodes[i].BootTime, w.Snap.Nodes[i].LastBusyTime = noon.Add(-20*time.Second), noon.Add(-10*time.Second)
	}
	w.fails(state, why, note)
	return w
}

// bad returns alpha-a3-1.
func (w waitingPending) bad() *slurm.Node { return &w.Snap.Nodes[1] }

// fails sets the state of alpha-a3-1, and what its health check has written.
func (w waitingPending) fails(state, why, note string) {
	w.bad().State, w.bad().Reason, w.bad().Comment = slurm.ParseState(state), why, note
}

// all lists a plan's actions, except those on covers.
func (w waitingPending) all() string {
	return strings.ReplaceAll(w.texts(func(a action.Action) bool { return !isOnCovers(a) }), doorName, "DOOR")
}

func TestNodeDrainedByADeletedMachineIsReturned(t *testing.T) {
	for state, to := range map[string]string{"IDLE+CLOUD+DRAIN+POWERING_DOWN": "resume", "IDLE+CLOUD+DRAIN+POWERED_DOWN": "idle"} {
		w := newChecked(state, "health: no GPU", "health: no GPU")
		assert.NotContains(t, w.all(), "set nodes alpha-a3-1 "+to, "its machine exists: %s", state)
		w.Snap.Instances, w.Snap.Groups[0].TargetSize = w.Snap.Instances[:1], 1
		assert.Contains(t, w.all(), "set nodes alpha-a3-1 "+to, state)
		assert.NotContains(t, w.all(), "DOOR", state)
		w.bad().Reason = "rack 7"
		assert.NotContains(t, w.all(), "set nodes alpha-a3-1 "+to, "an admin drained it: %s", state)
	}
}

// Slurm sets the node DOWN and appends its own words.
func TestDrainedNodeThatLosesItsMachineIsPoweredDown(t *testing.T) {
	for why, recovers := range map[string]bool{"health: no GPU : Not responding": true, "rack 7 : Not responding": false} {
		w := newChecked("DOWN+CLOUD+DRAIN+NOT_RESPONDING", why, "")
		w.Snap.Instances, w.Snap.Groups[0].TargetSize = w.Snap.Instances[:1], 1
		w.Snap.Jobs, w.Snap.Reservations = nil, nil
		assert.Equal(t, recovers, strings.Contains(w.all(), "set nodes alpha-a3-1 power_down_force"), why)
	}
}

// The check has drained it before slurmd registered, and its job has gone.
func TestNodeThatIsDrainedWhileItBootsForNobodyIsPoweredDown(t *testing.T) {
	for why, goes := range map[string]bool{"health: no GPU": true, "rack 7": false} {
		w := newChecked(drainedInBoot, why, why)
		assert.NotContains(t, w.all(), "set nodes alpha-a3-1 power_down_force", "its job waits: %s", why)
		w.Snap.Jobs, w.Snap.Reservations = nil, nil
		assert.Equal(t, goes, strings.Contains(w.all(), "set nodes alpha-a3-1 power_down_force"), why)
	}
}

func TestDrainedMachineThatNeverRegistersIsReturned(t *testing.T) {
	w := newChecked(drainedInBoot, "health: no GPU", "health: no GPU")
	assert.Empty(t, w.all(), "it may still register")
	w.Config.FlexSetOf("alpha-a3-0").Flex.BootTimeout = 20 * time.Second
	assert.Contains(t, w.all(), "return alpha-a3-1 to Slurm")
	assert.Contains(t, w.plan().Problems.Texts(), "alpha-a3-1: the machine did not join Slurm within boot_timeout 00:00:20")
}

const drainedInBoot = "IDLE+CLOUD+DRAIN+POWERING_UP+NOT_RESPONDING+RESERVED"

const drained = "IDLE+CLOUD+DRAIN+RESERVED"

func TestMachineThatFailsItsCheckIsReplacedBehindTheDoor(t *testing.T) {
	const replaced = "set AdminComment of job 7: \"flex-start: machines requested again: the machine of alpha-a3-1 failed its health check: 7 of 8 GPUs\"\n" +
		"set nodes alpha-a3-1 power_down_force"
	const record = ` extra "slurmflex: 1 boots failed, the last of an instance made 2026-11-21T11:59:30Z"`
	w := newChecked(drained, "health: 7 of 8 GPUs", "health: 7 of 8 GPUs")
	assert.Equal(t, replaced+` comment ""`+record, w.all())
	assert.Contains(t, w.plan().Problems.Texts(), "the machine of alpha-a3-1 failed its health check: 7 of 8 GPUs")
	assert.Equal(t, replaced+` comment ""`+record, newChecked(drained, "", "health: 7 of 8 GPUs").all(), "Slurm has cleared the Reason")
	assert.Equal(t, replaced+record, newChecked(drained, "NHC: 7 of 8 GPUs", "").all())

	w.fails("IDLE+CLOUD+DRAIN+POWER_DOWN", "", "")
	assert.NotContains(t, w.inSlurm(), "DOOR", "26.05 shows the drain for a second more")
	w.Nodes("alpha-a3-1", "IDLE+CLOUD+POWERING_DOWN")
	assert.Equal(t, "delete instances alpha-a3-1 of alpha-a3-job-7", w.all(), "the other machine is kept")
	w.Snap.Instances = w.Snap.Instances[:1]
	w.Snap.Groups[0].TargetSize = 1
	assert.Equal(t, "set nodes alpha-a3-1 resume", w.all())
	w.Nodes("alpha-a3-1", scenetest.PoweredDown)
	assert.Contains(t, w.all(), "request 1 node (alpha-a3-1) in alpha-a3-job-7/a2")
	w.Snap.Now = noon.Add(9*time.Minute + 30*time.Second)
	assert.NotContains(t, w.inSlurm(), "return", "gang_timeout counts from the machine that failed")
	w.Snap.Now = noon.Add(9*time.Minute + 40*time.Second)
	assert.Contains(t, w.inSlurm(), "return")
}

func TestLostMachineIsReplacedBehindTheDoor(t *testing.T) {
	w := newWaitingPending()
	w.Snap.SuspendTime = 0
	w.up("alpha-a3-[0-1]")
	w.bad().BootTime = noon.Add(-20 * time.Second)
	w.Snap.Instances, w.Snap.Groups[0].TargetSize = w.Snap.Instances[:1], 1
	w.Snap.Missed = map[string]bool{"alpha-a3-1": true}
	assert.Equal(t, "set AdminComment of job 7: \"flex-start: machine lost: the machine of alpha-a3-1 is gone: deleted by somebody, or lost by Google\"\n"+
		"set nodes alpha-a3-1 power_down_force", w.all())
	w.Nodes("alpha-a3-1", "IDLE+CLOUD+POWER_DOWN+RESERVED")
	assert.Empty(t, w.all(), "26.05 shows this for a second")
	w.Nodes("alpha-a3-1", "IDLE+CLOUD+POWERING_DOWN")
	assert.Equal(t, "set nodes alpha-a3-1 resume", w.all(), "the other machine is kept")
	w.Nodes("alpha-a3-1", scenetest.PoweredDown)
	assert.Contains(t, w.all(), "request 1 node (alpha-a3-1) in alpha-a3-job-7/a2")
}

func TestMachineThatFailsItsCheckUnderAJobGoesAfterTheJob(t *testing.T) {
	w := newWaitingPending()
	w.salvaging()
	w.keep()
	w.Config.FlexSetOf("alpha-a3-0").Flex.HealthCheck = 2 * time.Minute
	const goes = "set nodes alpha-a3-1 power_down_force"
	w.fails("ALLOCATED+CLOUD+DRAIN", "health: no GPU", "health: no GPU")
	assert.Empty(t, w.all(), "its job runs on")
	w.requeued()
	w.fails(drained, "health: no GPU", "health: no GPU")
	w.Nodes("alpha-a3-2", scenetest.PoweredDown)
	assert.Contains(t, w.all(), goes, "salvage does not keep it")
	assert.Contains(t, w.all(), "reserve alpha-a3-[0,2-3] from ", "but the other one")
	w.Snap.Jobs = nil
	assert.Contains(t, w.all(), goes, "keep_idle does not keep it")
	assert.NotContains(t, w.all(), "alpha-a3-0", "but the other one")
}

func TestDoorStaysClosedWhileAMachineIsChecked(t *testing.T) {
	for _, reason := range []string{"health: checking", ""} {
		w := newChecked(drained, reason, "")
		assert.Empty(t, w.all(), "reason %q", reason)
		w.Nodes("alpha-a3-1", "IDLE+CLOUD+DRAIN+POWERED_DOWN+RESERVED")
		assert.Empty(t, w.all(), "before slurmd registers, reason %q", reason)
		w.Nodes("alpha-a3-1", drained)
		w.Snap.Now = noon.Add(110 * time.Second)
		assert.Contains(t, w.all(), "failed its health check: no result within health_check 00:02:00", "reason %q", reason)
	}
	w := newChecked("IDLE+CLOUD+RESERVED", "", "")
	assert.Contains(t, w.inSlurm(), "change reservation DOOR from "+noon.Format(time.RFC3339), "it has passed")
}

func TestAdminsDrainIsNoFailedCheck(t *testing.T) {
	w := newChecked(drained, "rack 7", "health: 7 of 8 GPUs")
	assert.Equal(t, "delete reservation DOOR", w.inSlurm())
	w = newChecked(drained, "health: 7 of 8 GPUs", "")
	w.Config.FlexSetOf("alpha-a3-0").Flex.HealthCheck = 0
	assert.Equal(t, "delete reservation DOOR", w.inSlurm(), "without health_check")
}

func TestFailedChecksBlockANodeset(t *testing.T) {
	w := newChecked(drained, "health: 7 of 8 GPUs", "")
	block := func() *scene.Block { return w.Scene().Sets[w.Config.FlexSet("a3")].Block }
	w.Snap.Instances[0].Created = noon.Add(-6 * time.Minute)
	failed := func(n int) {
		w.bad().Extra = fmt.Sprintf("slurmflex: %d boots failed, the last of an instance made %s", n, noon.Add(-5*time.Minute).Format(time.RFC3339))
	}
	failed(3)
	assert.Nil(t, block())
	failed(4)
	assert.Equal(t, &scene.Block{Failed: 5, Until: noon.Add(89*time.Minute + 30*time.Second)}, block())
	w.Nodes("alpha-a3-1", "IDLE+CLOUD+RESERVED")
	assert.Nil(t, block(), "a machine has passed")
}

func TestMachineOnTheHostOfAFailedOneIsNamed(t *testing.T) {
	w := newChecked("IDLE+CLOUD+RESERVED", "", "")
	w.Snap.Instances[1].Host = "1/2/3"
	problems := func(ago time.Duration) string {
		w.Snap.BadHosts = map[string]scene.BadHost{"1/2/3": {Node: "alpha-a3-2", Why: "7 of 8 GPUs", At: noon.Add(-ago)}}
		return strings.Join(w.plan().Problems.Texts(), "\n")
	}
	assert.Contains(t, problems(time.Hour), "instance alpha-a3-1 is on host 1/2/3 again: the machine of alpha-a3-2 failed its health check: 7 of 8 GPUs at 2026-11-21T11:00:00Z")
	assert.NotContains(t, problems(0), "1/2/3", "it is that machine itself")
}

func TestMachineWithLessThanConfiguredIsReplaced(t *testing.T) {
	for reason, replaced := range map[string]bool{
		"Low RealMemory (reported:240 < 100.00% of configured:360)": true,
		"gres/gpu count reported lower than configured (7 < 8)":     true,
		"rack 7": false, // an admin has drained the node before
	} {
		w := newChecked("IDLE+CLOUD+DRAIN+INVALID_REG+RESERVED", reason, "")
		w.Config.FlexSetOf("alpha-a3-0").Flex.HealthCheck = 0
		assert.Equal(t, replaced, strings.Contains(w.all(), "machines requested again: the machine of alpha-a3-1 registered with less than slurm.conf says: "+reason), reason)
		assert.Equal(t, replaced, strings.Contains(w.all(), `extra "slurmflex: 1 boots failed`), reason)
		assert.NotEqual(t, replaced, strings.Contains(w.all(), "delete reservation DOOR"), reason)
		w.bad().State, w.bad().Reason = slurm.ParseState("IDLE+CLOUD+INVALID_REG+POWERING_DOWN+RESERVED"), "slurmflex: the machine of alpha-a3-1 "+scene.LessThanConfigured+reason
		assert.NotContains(t, w.inSlurm(), "DOOR", "it keeps its other machine")
	}
}

package metrics

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"slurmflex/flex"
	"slurmflex/flex/plan"
	"slurmflex/mig"
)

// asked is a request of 11:00 that brings node 0.
func (w *world) asked(state mig.RequestState) {
	w.snap.Groups = nil
	w.group(us, "alpha-a3-job-1", "a3", mig.Request{
		Name: "a1", State: state, Instances: []string{"alpha-a3-0"}, Created: noon.Add(-time.Hour),
	})
	w.node("alpha-a3-0", rising)
}

func TestAWaitIsOverWhenTheMachineIsMadeAndABootWhenItsNodeRegisters(t *testing.T) {
	w := newWorld(t)
	w.asked(mig.Accepted)
	w.pass(0)
	w.asked(mig.Succeeded)
	w.machine(us, "alpha-a3-job-1", "alpha-a3-0")
	w.pass(time.Minute)
	assert.Equal(t, 3600.0, w.value("slurmflex_queue_wait_seconds", "a3"))
	assert.Zero(t, w.value("slurmflex_boot_seconds", "a3"), "it boots")

	w.node("alpha-a3-0", "ALLOCATED+CLOUD")
	for range 3 {
		w.pass(time.Minute)
		assert.Equal(t, 3600.0, w.value("slurmflex_queue_wait_seconds", "a3"), "it is counted once")
		assert.Equal(t, 120.0, w.value("slurmflex_boot_seconds", "a3"), "likewise")
	}
}

// C14: an attempt that failed does not shorten the wait.
func TestAWaitBeginsWithTheFirstAttempt(t *testing.T) {
	made := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	attempt := func(state mig.RequestState, ago time.Duration) mig.Request {
		return mig.Request{State: state, Instances: []string{"n"}, Created: made.Add(-ago)}
	}
	for name, c := range map[string]struct {
		requests []mig.Request
		want     time.Duration
	}{
		"the first attempt":         {[]mig.Request{attempt(mig.Succeeded, time.Hour)}, time.Hour},
		"two that failed before it": {[]mig.Request{attempt(mig.Failed, 3*time.Hour), attempt(mig.Failed, 2*time.Hour), attempt(mig.Succeeded, time.Hour)}, 3 * time.Hour},
		"one that was for another":  {[]mig.Request{attempt(mig.Cancelled, 3*time.Hour), attempt(mig.Succeeded, time.Hour)}, time.Hour},
		"one that it had before":    {[]mig.Request{attempt(mig.Succeeded, 9*time.Hour), attempt(mig.Failed, 2*time.Hour), attempt(mig.Succeeded, time.Hour)}, 2 * time.Hour},
	} {
		assert.Equal(t, made.Add(-c.want), askedAt(mig.Instance{Name: "n", Created: made}, c.requests), name)
	}
}

func TestWhatWasThereBeforeTheFirstLookIsNotCounted(t *testing.T) {
	for name, first := range map[string]func(*world){
		"of a process":  func(*world) {},
		"after standby": func(w *world) { w.pass(time.Minute); w.Stood(fmt.Errorf("%w on ctl2", flex.ErrStandby)) },
		"at a region": func(w *world) {
			groups, machines := w.snap.Groups, w.snap.Instances
			w.snap.Unseen, w.snap.Groups, w.snap.Instances = map[string]error{us: errors.New("503")}, nil, nil
			w.pass(time.Minute)
			w.snap.Unseen, w.snap.Groups, w.snap.Instances = nil, groups, machines
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.asked(mig.Succeeded)
			w.machine(us, "alpha-a3-job-1", "alpha-a3-0")
			w.node("alpha-a3-0", "ALLOCATED+CLOUD")
			w.group(us, "alpha-a3-job-2", "a3", mig.Request{Name: "a1", State: mig.Failed, Cause: mig.CauseQuota})
			first(w)
			w.pass(time.Hour)
			assert.Zero(t, w.value("slurmflex_queue_wait_seconds", "a3"))
			assert.Zero(t, w.value("slurmflex_boot_seconds", "a3"))
			assert.Zero(t, w.value("slurmflex_failures_total", "quota"))
			assert.Zero(t, w.value("slurmflex_vm_seconds_total", "a3", "used"))
			assert.InDelta(t, w.now.Unix(), w.value("slurmflex_last_failure_timestamp_seconds", "quota"), 0, "but it stands")
		})
	}
}

func TestWhatCouldNotBeReadForAWhileIsNotCountedAgain(t *testing.T) {
	w := newWorld(t)
	w.pass(0)
	w.asked(mig.Succeeded)
	w.machine(us, "alpha-a3-job-1", "alpha-a3-0")
	w.group(us, "alpha-a3-job-2", "a3", mig.Request{Name: "a1", State: mig.Failed, Cause: mig.CauseQuota})
	groups, machines := w.snap.Groups, w.snap.Instances
	w.pass(time.Minute)
	w.snap.Unseen, w.snap.Groups, w.snap.Instances = map[string]error{us: errors.New("503")}, nil, nil
	w.pass(time.Minute)
	w.snap.Unseen, w.snap.Groups, w.snap.Instances = nil, groups, machines
	w.pass(time.Minute)
	assert.Equal(t, 3600.0, w.value("slurmflex_queue_wait_seconds", "a3"))
	assert.Equal(t, 1.0, w.value("slurmflex_failures_total", "quota"))
	assert.Equal(t, 180.0, w.value("slurmflex_vm_seconds_total", "a3", "idle"), "it was there all the time")
}

func TestTheTimeOfMachinesIsUsedWhileAJobIsOnTheNode(t *testing.T) {
	w := newWorld(t)
	w.asked(mig.Succeeded)
	w.pass(0)
	w.machine(us, "alpha-a3-job-1", "alpha-a3-0")
	for _, state := range []string{rising, "ALLOCATED+CLOUD", "MIXED+CLOUD+DRAIN", "IDLE+CLOUD", "IDLE+CLOUD+POWERING_DOWN"} {
		w.node("alpha-a3-0", state)
		w.pass(time.Minute)
	}
	assert.Equal(t, 120.0, w.value("slurmflex_vm_seconds_total", "a3", "used"))
	assert.Equal(t, 180.0, w.value("slurmflex_vm_seconds_total", "a3", "idle"))

	w.snap.Instances[0].Status = "TERMINATED"
	w.pass(time.Hour)
	assert.Equal(t, 180.0, w.value("slurmflex_vm_seconds_total", "a3", "idle"), "a stopped one is not paid for")
}

func TestAMachineIsCountedFromWhenItWasMade(t *testing.T) {
	w := newWorld(t)
	w.asked(mig.Succeeded)
	w.pass(0)
	w.machine(us, "alpha-a3-job-1", "alpha-a3-0").Created = noon.Add(50 * time.Second)
	w.pass(time.Minute)
	assert.Equal(t, 10.0, w.value("slurmflex_vm_seconds_total", "a3", "idle"))
}

func TestARequestThatFailsIsCountedOnce(t *testing.T) {
	w := newWorld(t)
	w.asked(mig.Accepted)
	w.pass(0)
	w.snap.Groups = nil
	w.group(us, "alpha-a3-job-1", "a3", mig.Request{Name: "a1", State: mig.Failed, Cause: mig.CauseConfig})
	for range 2 {
		w.pass(time.Minute)
		assert.Equal(t, 1.0, w.value("slurmflex_failures_total", "configuration"))
		assert.InDelta(t, w.now.Unix(), w.value("slurmflex_last_failure_timestamp_seconds", "configuration"), 0)
	}
	at := float64(w.now.Unix())
	w.snap.Groups[0].Requests = append(w.snap.Groups[0].Requests, mig.Request{Name: "a2", State: mig.Accepted})
	w.pass(time.Minute)
	assert.Equal(t, at, w.value("slurmflex_last_failure_timestamp_seconds", "configuration"), "it is being tried again")
}

// C5: a machine that is gone under a job is counted, once, when two looks in a row
// find it so.
func TestMachinesThatAreGoneUnderAJobAreCounted(t *testing.T) {
	w := newWorld(t)
	lost := plan.Plan{Losses: []plan.Loss{{NodeSet: "a3", Nodes: []string{"alpha-a3-0", "alpha-a3-1"}, Jobs: []uint32{7}, Cause: plan.Gone}}}
	count := func() float64 { return w.value("slurmflex_machines_lost_total", "gone", "a3") }
	for _, p := range []plan.Plan{lost, {}, lost} {
		w.Saw(w.snap, p)
		assert.Zero(t, count(), "a list may be wrong once")
	}
	w.Saw(w.snap, lost)
	w.Saw(w.snap, lost)
	assert.Equal(t, 2.0, count())
}

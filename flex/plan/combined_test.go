package plan_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"slurmflex/flex/plan"
	"slurmflex/flex/plan/action"
	"slurmflex/flex/plan/demand"
	"slurmflex/flex/plan/memo"
	"slurmflex/flex/plan/scene"
	"slurmflex/mig"
	"slurmflex/slurm"
	"slurmflex/test/scenetest"
)

// Job 7 has waited 29 minutes for free nodes of us. For some seconds two machines of us are idle
// (keep_idle), and a more important job gets them. The clock of on_demand_after must go on.
func TestIdleMachinesForAnotherJobDoNotResetDearerAfter(t *testing.T) {
	w := newSeveralPlaces("")
	w.crowded(29 * time.Minute)
	w.Config.FlexSetOf("alpha-us-0").Flex.KeepIdle = time.Hour
	w.Nodes("alpha-us-[0-1]", scenetest.Idle)
	w.Snap.Reservations[0].Nodes = scenetest.Names("alpha-eu-[0-1],alpha-od-[0-1]")
	w.submit(8, "us") // more important
	assert.Equal(t, noon.Add(-29*time.Minute), plan.Compute(w.Scene()).Crowded[7])
}

// Idle machines fit job 7, which has left its door for them; Slurm does not start it there, for
// example for its --constraint. Its door must not start by itself: five minutes later Slurm deletes
// it, and with it the request.
func TestDoorOfAJobThatIsOffItIsMovedAhead(t *testing.T) {
	w := newWaitingPending()
	w.keep()
	w.Nodes("alpha-a3-[2-3]", scenetest.Idle)
	w.Snap.Reservations[0].Nodes = scenetest.Names("alpha-a3-[0-1]")
	w.job().Reservation = ""
	w.door().Start = noon.Add(10 * time.Second)
	assert.Equal(t, "change reservation DOOR from 2026-11-21T12:15:00Z", w.inSlurm())
}

// spot makes the partition us one of Spot machines, which job 7 prefers to the on-demand ones.
func (w severalPlaces) spot() {
	w.Snap.Jobs[0].Partition = "us,od"
	f := w.Config.FlexSetOf("alpha-us-0").Flex
	od := w.Config.FlexSetOf("alpha-od-0").Flex
	keep := *od
	*f = keep
	f.Capacity = "spot"
}

// run makes passes every ten seconds for that long, with every call for machines refused. It returns
// after how long a pass made the action; -1 if none did.
func (w severalPlaces) run(long time.Duration, until func(a action.Action) bool) (after time.Duration) {
	for d := time.Duration(0); d <= long; d += 10 * time.Second {
		w.Snap.Now = noon.Add(d)
		p := plan.Compute(w.Scene())
		w.Snap.Asked, w.Snap.Unasked, w.Snap.Crowded = p.Asked, demand.WithoutReason(p.Held), p.Crowded
		if slices.ContainsFunc(p.Actions, until) {
			return d
		}
		for _, a := range p.Actions {
			if a, is := a.(action.BulkInsert); is {
				w.Snap.Refused[a.Group.Name] = w.Snap.Refused[a.Group.Name].Fail(mig.Trouble{Cause: mig.CauseCapacity, Message: "STOCKOUT"}, "", w.Snap.Now, 0)
			}
		}
		w.Do(p.Actions)
		for g, r := range w.Snap.Refused {
			if w.Snap.Now.Sub(r.Last()) > time.Hour {
				delete(w.Snap.Refused, g)
			}
		}
	}
	return -1
}

func TestDearerAfterEndsAlthoughAttemptsFail(t *testing.T) {
	for _, dearer := range []time.Duration{20 * time.Minute, 30 * time.Minute, time.Hour} {
		w := newSeveralPlaces("")
		w.spot()
		w.Config.Options.OnDemandAfter = dearer
		after := w.run(8*time.Hour, func(a action.Action) bool {
			c, is := a.(action.CreateReservation)
			return is && slices.Contains(c.Nodes, "alpha-od-0") && !strings.Contains(c.Name, "cover")
		})
		assert.LessOrEqual(t, after, dearer+time.Minute, dearer)
		assert.Positive(t, after, "never within 8 h: on_demand_after %s", dearer)
	}
}

// --comment=slurmflex:wait=2h,cancel, and the admin's provision_timeout of 2 h.
func TestWaitLimitEndsAlthoughAttemptsFail(t *testing.T) {
	for _, by := range []string{"slurmflex:wait", "provision_timeout"} {
		w := newSeveralPlaces("")
		w.spot()
		w.Snap.Jobs[0].Partition = "us"
		w.Snap.Limits = map[uint32]scene.JobLimits{}
		if by == "slurmflex:wait" {
			w.Snap.Limits[7] = scene.JobLimits{Wait: 2 * time.Hour, Then: "cancel"}
		} else {
			f := w.Config.FlexSetOf("alpha-us-0").Flex
			f.ProvisionTimeout, f.OnProvisionTimeout = 2*time.Hour, "cancel"
		}
		after := w.run(12*time.Hour, func(a action.Action) bool {
			r, is := a.(action.ReturnNodes)
			return is && r.Then == action.Cancel
		})
		assert.Positive(t, after, "never within 12 h: %s", by)
	}
}

// Of two heterogeneous jobs, the more important gets the nodes.
func TestMoreImportantHeterogeneousJobGetsTheNodes(t *testing.T) {
	w := newUnasked()
	w.Snap.Jobs = nil
	for _, id := range []uint32{7, 17} {
		for offset := range uint32(2) {
			w.Snap.Jobs = append(w.Snap.Jobs, slurm.Job{
				ID: id + offset, ArrayID: id + offset, HetID: id, HetOffset: offset, State: slurm.JobPending, Priority: uint64(id), NodeCount: 2, Partition: "train", User: "ann",
				Reason: "ReqNodeNotAvail, May be reserved for other job", Limit: slurm.Limit{Kind: slurm.LimitSet, Duration: time.Hour},
			})
		}
	}
	assert.Equal(t, "reserve alpha-a3-[0-1] from 2026-11-21T12:15:00Z\nhave job 17+0 use reservation "+newDoor("17+0")+"\n"+
		"reserve alpha-a3-[2-3] from 2026-11-21T12:15:00Z\nhave job 17+1 use reservation "+newDoor("17+1"), w.inSlurm())
}

// A job without a time limit (no --time, and no MaxTime) fits no machine with a lease: Slurm starts
// it on no node that is reserved from the end of the lease on.
func TestUnlimitedJobDoesNotFitIdleMachinesWithALease(t *testing.T) {
	for name, limit := range map[string]slurm.Limit{"5 h": {Kind: slurm.LimitSet, Duration: 5 * time.Hour}, "unlimited": {Kind: slurm.Unlimited}} {
		w := newUnasked()
		w.keep()
		w.up("alpha-a3-[2-3]")
		w.Nodes("alpha-a3-[2-3]", scenetest.Idle)
		for i := range w.Snap.Instances {
			w.Snap.Instances[i].Terminates = noon.Add(3 * time.Hour)
		}
		w.reserve(memo.Reservation("alpha", noon.Add(3*time.Hour)), 3*time.Hour, "alpha-a3-[2-3]", "MAINT")
		w.Snap.Reservations[0].Nodes = scenetest.Names("alpha-a3-[0-1]")
		w.job().Limit = limit
		assert.Contains(t, w.inSlurm(), "reserve alpha-a3-[0-1] from", name)
	}
}

// Two of four tasks may run at once (%2), and two have doors that they do not use yet: the call that
// splits them from the array failed, or has not returned. No more doors may be made.
func TestThrottleCountsDoorsOfTasksThatShareARecord(t *testing.T) {
	w := newUnasked()
	w.job().ArrayTask, w.job().NodeCount = "1-4%2", 1
	one, two := memo.DoorReservation("alpha", "7_1", noon.Add(-5*time.Second)), memo.DoorReservation("alpha", "7_2", noon.Add(-5*time.Second))
	w.reserve(one, 5*time.Minute, "alpha-a3-0", "")
	w.reserve(two, 5*time.Minute, "alpha-a3-1", "")
	assert.Equal(t, "have job 7_1 use reservation ONE\nhave job 7_2 use reservation TWO", strings.NewReplacer(one, "ONE", two, "TWO").Replace(w.inSlurm()))
}

// The door was made while the daemon's clock was ahead, or when the other partition still had
// jobs wait pending.
func TestDoorOpensIfAnotherComponentWaitsConfiguring(t *testing.T) {
	w := newSeveralPlaces("")
	other := w.Snap.Jobs[0]
	w.Snap.Jobs[0].HetID = 7
	other.ID, other.ArrayID, other.HetID, other.HetOffset, other.Partition, other.Reservation = 8, 8, 7, 1, "od", ""
	w.Snap.Jobs = append(w.Snap.Jobs, other)
	w.Snap.Jobs[0].Reservation = memo.DoorReservation("alpha", "7+0", noon.Add(-time.Minute))
	w.reserve(w.Snap.Jobs[0].Reservation, 14*time.Minute, "alpha-us-[0-1]")
	assert.NotContains(t, fmt.Sprint(plan.Compute(w.Scene()).Actions), "from 2026-11-21T12:00:00Z")
	for i := range w.Config.Partitions {
		w.Config.Partitions[i].Exclusive = w.Config.Partitions[i].Name != "od"
	}
	assert.Contains(t, fmt.Sprint(plan.Compute(w.Scene()).Actions), "from 2026-11-21T12:00:00Z")
}

// A job that waits in us (1 GPU a node) gets no further place in eu (8 GPUs a node), where a limit of
// Slurm would keep it from starting.
func TestLimitsOfSlurmCountInFurtherPlaces(t *testing.T) {
	for most, gets := range map[int64]bool{15: false, 16: true} {
		w := newSeveralPlaces("")
		us := memo.DoorReservation("alpha", "7", noon.Add(-time.Minute))
		w.reserve(us, 14*time.Minute, "alpha-us-[0-1]")
		w.Snap.Jobs[0].Partition, w.Snap.Jobs[0].Reservation, w.Snap.Jobs[0].Reason = "us,eu", us, "Reservation"
		w.Snap.Partitions[0].PerNode, w.Snap.Partitions[1].PerNode = map[string]int64{"gres/gpu": 1}, map[string]int64{"gres/gpu": 8}
		parent := &slurm.Association{Account: "ml", Allowances: []slurm.Allowance{{Limit: "GrpTRES", Of: "gres/gpu", Most: most}}}
		w.Snap.Allowances = slurm.Allowances{
			Associations: map[slurm.AssociationKey]*slurm.Association{{Account: "ml"}: parent, {Account: "ml", User: "ann"}: {Parent: parent, Account: "ml", UID: "5"}},
			QOS:          map[string]*slurm.QOS{"normal": {}}, Charges: map[uint32]slurm.Charge{7: {Account: "ml", QOS: "normal"}},
		}
		made := fmt.Sprint(plan.Compute(w.Scene()).Actions)
		assert.Equal(t, gets, strings.Contains(made, "reserve alpha-eu-[0-1] from"), "%d: %s", most, made)
	}
}

package plan_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"slurmflex/flex/plan"
	"slurmflex/flex/plan/action"
	"slurmflex/flex/plan/memo"
	"slurmflex/slurm"
	"slurmflex/test/scenetest"
)

// newChanged returns the cluster of waitingPending with a live request, a door that was made five
// minutes ago for a job without features, and the job with the feature rack2 now, which no node has.
func newChanged() waitingPending {
	w := newWaitingPending()
	w.door().Name = memo.DoorFor(memo.DoorReservation("alpha", "7", noon.Add(-5*time.Minute)), slurm.Job{NodeCount: 2}.Digest())
	w.job().Reservation, w.job().Features = w.door().Name, "rack2"
	w.Requested(7, "alpha-a3-[0-1]", 4*time.Minute)
	return w
}

// endsEarly makes the door end before the horizon: the change was noticed 90 s ago.
func (w waitingPending) endsEarly() waitingPending {
	w.door().Start, w.door().End = noon.Add(30*time.Second), noon.Add(5*time.Minute+30*time.Second)
	return w
}

// left also makes the job leave its door.
func (w waitingPending) left() waitingPending {
	w.offDoor()
	return w.endsEarly()
}

// planned is Slurm's plan for the job.
func (w waitingPending) planned(nodes string) {
	w.job().Planned, w.job().Start = scenetest.Names(nodes), noon.Add(23*time.Hour)
}

// again adds the new door of the changed job over the nodes, made half a minute ago.
func (w waitingPending) again(nodes string) {
	name := memo.DoorFor(memo.DoorReservation("alpha", "7", noon.Add(-30*time.Second)), w.job().Digest())
	w.reserve(name, 14*time.Minute, nodes, "PURGE_COMP=00:05:00")
	w.job().Reservation, w.job().Reason = name, "Reservation"
}

// changes returns what a pass does with doors and requests, one action per line.
func (w waitingPending) changes() string {
	var done []string
	old := memo.DoorReservation("alpha", "7", noon.Add(-5*time.Minute))
	for _, a := range w.plan().Actions {
		switch a := a.(type) {
		case action.CreateReservation:
			if memo.ParseHold("alpha", a.Name).Kind == memo.DoorHold {
				done = append(done, "door over "+slurm.Fold(a.Nodes))
			}
		case action.UseReservation:
			done = append(done, fmt.Sprintf("job %s uses it: %t", a.Address, !a.Leave))
		case action.SetReservation:
			if strings.HasPrefix(a.Name, old) {
				done = append(done, "door from "+a.Start.Format(time.TimeOnly)+" to "+a.End.Format(time.TimeOnly))
			}
		case action.DeleteReservation:
			if strings.HasPrefix(a.Name, old) {
				done = append(done, "door deleted")
			}
		case action.CreateRequest:
			done = append(done, "request "+slurm.Fold(a.Spec.Instances))
		case action.CancelRequest:
			done = append(done, "request cancelled: "+string(a.Why))
		}
	}
	return strings.Join(done, "; ")
}

func TestChangedJobKeepsItsRequestUntilItIsPlannedAgain(t *testing.T) {
	const late = "request cancelled: its job was changed, and Slurm has not planned it on these nodes since"
	cases[waitingPending]{
		"its door ends before the horizon": {nil, "door from 12:02:00 to 12:07:00"},
		"it wants more nodes": {func(w waitingPending) {
			w.job().Features, w.job().NodeCount = "", 3
		}, "door from 12:02:00 to 12:07:00"},
		"its nodes are closed without end": {func(w waitingPending) {
			w.endsEarly()
			w.reserve(memo.CoverReservation("alpha", memo.BusyCover, noon.Add(-10*time.Minute)), -10*time.Minute, "alpha-a3-[0-1]", "PURGE_COMP=00:16:00")
		}, ""},
		"the job leaves its door":        {func(w waitingPending) { w.endsEarly() }, "job 7 uses it: false"},
		"Slurm has not planned it":       {func(w waitingPending) { w.left() }, ""},
		"Slurm has planned it there":     {func(w waitingPending) { w.left().planned("alpha-a3-[0-1]") }, "door over alpha-a3-[0-1]; job 7 uses it: true"},
		"its new door is there":          {func(w waitingPending) { w.left().again("alpha-a3-[0-1]") }, "door deleted"},
		"Slurm has planned it elsewhere": {func(w waitingPending) { w.left().planned("alpha-a3-[2-3]") }, "door over alpha-a3-[2-3]; job 7 uses it: true"},
		"its new door is elsewhere":      {func(w waitingPending) { w.left().again("alpha-a3-[2-3]") }, "request cancelled: its job uses other nodes of the partition; request alpha-a3-[2-3]; door deleted"},
		"Slurm has not planned it for long": {func(w waitingPending) {
			w.left()
			w.door().Start, w.door().End = noon, noon.Add(time.Minute)
		}, late},
		"the plan may be older than its change": {func(w waitingPending) {
			w.left().planned("alpha-a3-[0-1]")
			w.door().Start, w.door().End = noon.Add(90*time.Second), noon.Add(6*time.Minute+30*time.Second)
		}, ""},
		"its nodes have the feature": {func(w waitingPending) {
			w.Node("alpha-a3-0").Features, w.Node("alpha-a3-1").Features = []string{"rack2"}, []string{"rack2"}
			w.doorStarts(14 * time.Minute)
		}, ""},
		"one of its nodes is enough now": {func(w waitingPending) {
			w.job().Features, w.job().NodeCount = "", 1
			w.doorStarts(14 * time.Minute)
		}, ""},
		"its nodes are planned for another job": {func(w waitingPending) {
			w.left()
			other := w.another(8)
			other.Priority, other.Features = 20, ""
			other.Planned, other.Start = scenetest.Names("alpha-a3-[0-1]"), noon.Add(23*time.Hour)
		}, ""},
	}.run(t, newChanged, waitingPending.changes)
}

func TestWhyOfAChangedJobSaysThatItIsPlannedAgain(t *testing.T) {
	held := plan.Compute(newChanged().left().Scene()).Held
	if assert.Len(t, held, 1) {
		assert.Equal(t, "what it requests was changed, and Slurm has not planned it since: its request is kept until 2026-11-21T12:00:30Z", held[0].Obstacle)
	}
}

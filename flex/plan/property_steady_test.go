package plan_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"

	"slurmflex/flex/plan"
	"slurmflex/flex/plan/action"
	"slurmflex/flex/plan/demand"
	"slurmflex/flex/plan/memo"
	"slurmflex/mig"
	"slurmflex/slurm"
	"slurmflex/test/scenetest"
)

// passes makes passes ten seconds apart, in which nothing else happens. It returns the rules that the
// plans break, and the doors and requests of an earlier pass that a later one ends.
func passes(w *scenetest.World, count int) (wrong []string) {
	made := map[string]bool{}
	for range count {
		p := plan.Compute(w.Scene())
		wrong = append(wrong, broken(sightOf(w.Config, w.Snap), p)...)
		for what, why := range endedIn(p) {
			if made[what] {
				wrong = append(wrong, fmt.Sprintf("%s, which an earlier pass has made, ends: %s", what, why))
			}
		}
		for _, a := range p.Actions {
			switch a := a.(type) {
			case action.CreateReservation:
				made[a.Name] = true
			case action.CreateRequest:
				made[a.Group.String()+"/"+a.Spec.Name] = true
			}
		}
		w.Do(p.Actions)
		w.Snap.Now = w.Snap.Now.Add(10 * time.Second)
		w.Snap.Asked, w.Snap.Unasked, w.Snap.Crowded = p.Asked, demand.WithoutReason(p.Held), p.Crowded
	}
	return wrong
}

// endedIn returns the reservations and requests that a plan ends, and why.
func endedIn(p plan.Plan) map[string]string {
	ends := map[string]string{}
	for _, a := range p.Actions {
		switch a := a.(type) {
		case action.DeleteReservation:
			ends[a.Name] = a.Because()
		case action.ReturnNodes:
			ends[a.Door] = a.Because()
		case action.CancelRequest:
			ends[a.Group.String()+"/"+a.Request] = a.Because()
		}
	}
	return ends
}

// asksForNothingBehindAnEndedDoor: a plan requests no nodes of a reservation that it deletes.
func asksForNothingBehindAnEndedDoor(s *sight, p plan.Plan) (wrong []string) {
	ends := endedIn(p)
	for _, r := range s.snap.Reservations {
		if why, is := ends[r.Name]; is && memo.ParseHold(cluster, r.Name).Kind == memo.DoorHold {
			for _, node := range asked(p) {
				if slices.Contains(r.Nodes, node) {
					wrong = append(wrong, fmt.Sprintf("%s is asked for, and door %s ends: %s", node, r.Name, why))
				}
			}
		}
	}
	return wrong
}

// TestNoPassUndoesWhatAnEarlierOneHasMade draws clusters where jobs arrive, wait in one or more
// partitions for nodes, and get none.
func TestNoPassUndoesWhatAnEarlierOneHasMade(t *testing.T) {
	for range 5 { // 100 clusters each
		rapid.Check(t, func(t *rapid.T) {
			w := drawPartitions(t)
			for range 1 + upTo(t, "arrivals - 1", 2) {
				for range 1 + upTo(t, "jobs - 1", 3) {
					w.drawWaiting(t)
				}
				before := fmt.Sprintf("%+v\n%+v", w.Snap.Jobs, w.Snap.Reservations)
				if wrong := passes(w.World, pick(t, "passes", 8, 8, 1, 2)); len(wrong) > 0 {
					t.Fatalf("%s\nin\n%s", strings.Join(wrong, "\n"), before)
				}
			}
		})
	}
}

// drawPartitions draws a cluster of three partitions. Some nodes run jobs, are idle or down.
func drawPartitions(t *rapid.T) severalPlaces {
	size := 1 + upTo(t, "nodes - 1", 2)
	w := severalPlacesOf(size, fmt.Sprintf(", max_places: %d, max_active_requests: %d", 1+upTo(t, "max_places - 1", 2), pick(t, "max_active_requests", 1000, 1000, 2, 1)))
	w.Snap.Jobs, w.Snap.Reservations = nil, nil
	for i := range w.Snap.Nodes {
		w.drawUse(t, uint32(1+i), w.Snap.Nodes[i].Name)
	}
	return w
}

// drawUse draws how a node is used.
func (w severalPlaces) drawUse(t *rapid.T, job uint32, node string) {
	set := w.Config.FlexSetOf(node).Name
	switch pick(t, "use of "+node, "", "", "", "runs", "runs", "idle", "down") {
	case "runs":
		w.Nodes(node, scenetest.Busy)
		j := w.Job(job, set, node, slurm.JobRunning)
		j.Start, j.Limit = noon.Add(-time.Hour), slurm.Limit{Kind: slurm.LimitSet, Duration: time.Hour + pick(t, "rest", time.Minute, time.Hour, 5*time.Hour)}
	case "idle":
		w.Nodes(node, scenetest.Idle)
		w.Node(node).LastBusyTime = noon.Add(-time.Minute)
		w.Group(fmt.Sprintf("alpha-%s-job-%d", set, job), mig.Stamp{NodeSet: set, Job: job})
		w.Machine(node, fmt.Sprintf("alpha-%s-job-%d", set, job)).Created = noon.Add(-time.Hour)
		w.Config.FlexSetOf(node).Flex.KeepIdle = time.Hour
	case "down":
		w.Nodes(node, "DOWN+CLOUD+POWERED_DOWN")
	}
}

// drawWaiting adds a job that waits pending for nodes only.
func (w severalPlaces) drawWaiting(t *rapid.T) {
	j := w.submit(uint32(20+len(w.Snap.Jobs)), pick(t, "partitions", "us", "eu", "us,eu", "eu,us", "us,eu,od", "od,us"))
	j.Priority, j.NodeCount = uint64(1+upTo(t, "priority - 1", 9)), 1+upTo(t, "needed nodes - 1", 2)
	j.Limit.Duration = pick(t, "limit", 30*time.Minute, 2*time.Hour, 10*time.Hour)
	switch node := pick(t, "node", w.Snap.Nodes...).Name; pick(t, "it is", "any", "any", "any", "required", "excluded") {
	case "required":
		j.Needs = node
	case "excluded":
		j.Excludes = node
	}
}

// newCrowdedEU returns the cluster in which job 5 has node eu-1 for another hour. Job 9 has a door in
// us and a second one over eu-0. Job 8 needs both nodes of eu, and job 7, which is less important,
// one for three hours.
func newCrowdedEU(t *testing.T) (w severalPlaces) {
	w = newSeveralPlaces("")
	w.Snap.Jobs, w.Snap.Reservations = nil, nil
	w.Nodes("alpha-eu-1", scenetest.Busy)
	runs := w.Job(5, "eu", "alpha-eu-1", slurm.JobRunning)
	runs.Start, runs.Limit = noon.Add(-time.Hour), slurm.Limit{Kind: slurm.LimitSet, Duration: 2 * time.Hour}
	w.submit(9, "us,eu").NodeCount = 1
	assert.Empty(t, passes(w.World, 4))
	w.submit(8, "eu")
	small := w.submit(7, "eu")
	small.NodeCount, small.Limit.Duration = 1, 3*time.Hour
	return w
}

// liveIn returns the live requests of a group.
func (w severalPlaces) liveIn(group string) (names []string) {
	for _, g := range w.Snap.Groups {
		for _, r := range g.Live() {
			if g.Name == group {
				names = append(names, r.Name)
			}
		}
	}
	return names
}

// K14: passes ended the door for job 7, kept eu-0 from job 7 for job 8, and gave it back to job 9.
func TestSecondDoorEndsOnlyIfItsNodesCompleteAJob(t *testing.T) {
	w := newCrowdedEU(t)
	assert.Empty(t, passes(w.World, 8))
	assert.Equal(t, []string{"a1"}, w.liveIn("alpha-eu-job-9"), "nobody can use eu-0 yet")

	w.Snap.Jobs = slices.DeleteFunc(w.Snap.Jobs, func(j slurm.Job) bool { return j.ID == 5 })
	w.Nodes("alpha-eu-1", scenetest.PoweredDown)
	const why = "job 8 waits nowhere else and gets these nodes"
	var ends []string
	for what, because := range endedIn(plan.Compute(w.Scene())) {
		ends = append(ends, what)
		assert.Equal(t, why, because, what)
	}
	assert.Len(t, ends, 2, "the door, and the request behind it")
	assert.Empty(t, passes(w.World, 8))
	assert.Equal(t, []string{"a1"}, w.liveIn("alpha-eu-job-8"))
	assert.Empty(t, w.liveIn("alpha-eu-job-9"))
	assert.Equal(t, []string{"a1"}, w.liveIn("alpha-us-job-9"))
}

// A job that ends before job 5 delays no other: it gets the node of the second door.
func TestSecondDoorEndsForAJobThatDelaysNoOther(t *testing.T) {
	w := newCrowdedEU(t)
	w.Snap.Jobs[len(w.Snap.Jobs)-1].Limit.Duration = 30 * time.Minute
	assert.Empty(t, passes(w.World, 8))
	assert.Equal(t, []string{"a1"}, w.liveIn("alpha-eu-job-7"))
	assert.Empty(t, w.liveIn("alpha-eu-job-9"))
}

// The door and its request end in one pass, with one reason.
func TestRequestBehindAnEndedDoorEndsForTheDoorsReason(t *testing.T) {
	for why, change := range map[string]func(*slurm.Job){
		"its job is held":                          func(j *slurm.Job) { j.Priority, j.Reason = 0, "JobHeldUser" },
		"its job asks for 1 nodes now":             func(j *slurm.Job) { j.NodeCount = 1 },
		"its job waits for other jobs":             func(j *slurm.Job) { j.Reason = "Dependency" },
		"its job may not use these nodes any more": func(j *slurm.Job) { j.Partition = "other" },
		"its job uses another reservation":         func(j *slurm.Job) { j.Reservation = "theirs" },
	} {
		w := newWaitingPending()
		change(w.job())
		assert.NotContains(t, strings.Join(w.inCompute(), "\n"), "request 2 nodes", why)
		w.Group("alpha-a3-job-7", mig.Stamp{NodeSet: "a3", Job: 7}, mig.Request{
			Name: "a1", State: mig.Accepted, Instances: scenetest.Names("alpha-a3-[0-1]"), Duration: 4 * time.Hour, Created: noon.Add(-50 * time.Second),
		})
		ends := endedIn(plan.Compute(w.Scene()))
		assert.Equal(t, map[string]string{doorName: why, "us-central1/alpha-a3-job-7/a1": why}, ends)
	}
}

// Job 8 has a door, and gets the machines of job 7 through another one.
func TestNothingIsRequestedForAJobThatGetsExistingMachines(t *testing.T) {
	w := newWaitingPending()
	w.next()
	w.up("alpha-a3-[0-1]")
	w.Snap.Jobs = w.Snap.Jobs[1:]
	w.NoGroup("alpha-a3-job-8")
	assert.Contains(t, w.done(), "have job 8 use reservation NEW8")
	assert.NotContains(t, strings.Join(w.inCompute(), "\n"), "request 2 nodes")
}

// Job 9 has just got both doors, and one request is all that max_active_requests leaves. Job 8 gets its
// first door now.
func TestSecondDoorLeavesThePlaceToAJobThatSoonHasADoor(t *testing.T) {
	w := newSeveralPlaces(", max_active_requests: 2")
	w.Snap.Jobs, w.Snap.Reservations = nil, nil
	w.submit(9, "us,eu").NodeCount = 1
	assert.Empty(t, passes(w.World, 2))
	w.submit(8, "us").NodeCount = 1
	assert.Empty(t, passes(w.World, 4))
	assert.Equal(t, []string{"a1"}, w.liveIn("alpha-us-job-8"))
}

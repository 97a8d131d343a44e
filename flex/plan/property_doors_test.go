package plan_test

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"slurmflex/flex/plan"
	"slurmflex/flex/plan/action"
	"slurmflex/flex/plan/memo"
	"slurmflex/mig"
	"slurmflex/slurm"
	"slurmflex/test/scenetest"
)

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

// makesDoorsWhereSlurmHasPlanned: the first door of a job is over exactly the nodes that Slurm has planned
// for the end of the cover over cold nodes. Nodes that fit the job may replace planned ones that are not
// cold, or are in another nodeset. Doors of further array tasks, and further doors of a job, are over any
// nodes that fit.
func makesDoorsWhereSlurmHasPlanned(s *sight, p plan.Plan) (wrong []string) {
	used, tasks := map[string]bool{}, map[uint32]bool{}
	for _, a := range p.Actions {
		if use, is := a.(action.UseReservation); is {
			used[use.Name] = !use.Leave
		}
	}
	for _, a := range p.Actions {
		door, is := a.(action.CreateReservation)
		i := slices.IndexFunc(s.snap.Jobs, func(j slurm.Job) bool { return is && j.ID == door.Job })
		if !is || memo.ParseHold(cluster, door.Name).Kind != memo.DoorHold || i >= 0 && s.keepsPlace(s.snap.Jobs[i], door.Nodes) {
			continue
		}
		if i < 0 {
			wrong = append(wrong, "no job is in the queue for "+door.String())
			continue
		}
		j := s.snap.Jobs[i]
		isPlanned := len(j.Planned) > 0 && !j.Start.After(s.snap.Now.Add(s.snap.BackfillWindow))
		isFirst := used[door.Name] && !tasks[j.ID]
		tasks[j.ID] = true
		isReplaced := func(name string) bool {
			return !slices.Contains(door.Nodes, name) && s.nodes[name].State.String() == scenetest.PoweredDown && s.cfg.FlexSetOf(name) == s.cfg.FlexSetOf(door.Nodes[0])
		}
		switch {
		case used[door.Name] && !isPlanned,
			isFirst && (len(door.Nodes) != len(j.Planned) || slices.ContainsFunc(j.Planned, isReplaced)),
			len(door.Nodes) < j.NodeCount || slices.ContainsFunc(door.Nodes, func(name string) bool { return !scenetest.Fits(j, s.nodes[name]) }):
			wrong = append(wrong, fmt.Sprintf("Slurm has planned %v at %s: %s", j.Planned, j.Start, door))
		}
	}
	return wrong
}

// keepsPlace reports whether the nodes are those of a live request for the job, or some of them still
// have its machines.
func (s *sight) keepsPlace(j slurm.Job, nodes []string) bool {
	for _, name := range nodes {
		if slices.ContainsFunc(s.live[name], func(request string) bool { return s.groups[path.Dir(request)].Stamp.Job == j.ID }) || len(s.instances[name]) > 0 {
			return true
		}
	}
	return false
}

// asksForNothingWithoutADoor: where jobs wait pending, a plan requests no powered-down node unless it is
// behind a door that the plan keeps.
func asksForNothingWithoutADoor(s *sight, p plan.Plan) (wrong []string) {
	covered, behind := map[string]bool{}, map[string]bool{}
	ends := endedIn(p)
	for _, r := range s.snap.Reservations {
		hold := memo.ParseHold(cluster, r.Name)
		for _, name := range r.Nodes {
			_, isEnded := ends[r.Name]
			covered[name] = covered[name] || hold.Kind == memo.CoverHold
			behind[name] = behind[name] || hold.Kind == memo.DoorHold && !isEnded
		}
	}
	for _, name := range asked(p) {
		if covered[name] && !behind[name] && s.nodes[name].State.String() == scenetest.PoweredDown {
			wrong = append(wrong, name+" is asked for without a door")
		}
	}
	return wrong
}

// The door and its request end in one pass, with one reason.
func TestRequestBehindAnEndedDoorEndsForTheDoorsReason(t *testing.T) {
	for why, change := range map[string]func(*slurm.Job){
		"its job is held":                          func(j *slurm.Job) { j.Priority, j.Reason = 0, "JobHeldUser" },
		"its job excludes alpha-a3-1 now":          func(j *slurm.Job) { j.Excludes = "alpha-a3-1" },
		"its job asks for alpha-a3-2 now":          func(j *slurm.Job) { j.Needs = "alpha-a3-2" },
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

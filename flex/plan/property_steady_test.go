package plan_test

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"slurmflex/flex/plan"
	"slurmflex/flex/plan/action"
	"slurmflex/flex/plan/memo"
	"slurmflex/mig"
	"slurmflex/slurm"
	"slurmflex/test/scenetest"
)

// passes makes passes up to ten seconds apart, while nothing else happens. It returns the rules that the
// plans break, the doors and requests of an earlier pass that a later one ends, unless they were made for
// one of the changed jobs, and the jobs that leave a door twice.
func passes(w *scenetest.World, count int, changed ...uint32) (wrong []string) {
	made, left := map[string]bool{}, map[string]bool{}
	for _, r := range w.Snap.Reservations {
		made[r.Name] = !slices.ContainsFunc(changed, func(id uint32) bool {
			return memo.ParseHold(cluster, r.Name).Address == strconv.FormatUint(uint64(id), 10)
		})
	}
	for _, g := range w.Snap.Groups {
		for _, r := range g.Live() {
			made[g.ID().String()+"/"+r.Name] = !slices.Contains(changed, g.Stamp.Job)
		}
	}
	for i := range count {
		s := w.Scene()
		p := plan.Compute(s)
		wrong = append(wrong, broken(sightOf(w.Config, s.Seen), p)...)
		for what, why := range endedIn(p) {
			if made[what] && why != "a more important request waits for its place" { // see freesOnlyWhatWasHeldLong
				wrong = append(wrong, fmt.Sprintf("%s, which an earlier pass has made, ends: %s", what, why))
			}
		}
		for _, a := range p.Actions {
			switch a := a.(type) {
			case action.CreateReservation:
				if slices.ContainsFunc(w.Snap.Reservations, func(r slurm.Reservation) bool { return r.Name == a.Name }) {
					wrong = append(wrong, a.Name+" exists: "+action.About(a).Text)
				}
				made[a.Name] = true
			case action.UseReservation:
				if a.Leave && left[a.Address] {
					wrong = append(wrong, fmt.Sprintf("job %s leaves its reservation again: %s", a.Address, a.Why))
				}
				left[a.Address] = left[a.Address] || a.Leave
			case action.CreateRequest:
				made[a.Group.String()+"/"+a.Spec.Name] = true
			}
		}
		w.Do(p.Actions)
		w.Snap.Now = w.Snap.Now.Add([]time.Duration{10 * time.Second, time.Second / 4}[i%2])
		w.Snap.Clocks = p.Clocks
	}
	return wrong
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
			wrong = append(wrong, "no job is in the queue for "+action.About(door).Text)
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
			wrong = append(wrong, fmt.Sprintf("Slurm has planned %v at %s: %s", j.Planned, j.Start, action.About(door).Text))
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

// TestNoPassUndoesWhatAnEarlierOneHasMade draws clusters where jobs arrive, wait in one or more
// partitions for nodes, and get none. Some jobs are cancelled, held or changed.
func TestNoPassUndoesWhatAnEarlierOneHasMade(t *testing.T) {
	for range 5 { // 100 clusters each
		rapid.Check(t, func(t *rapid.T) {
			w, id, changed := drawPartitions(t), uint32(20), []uint32(nil)
			for range 1 + upTo(t, "arrivals - 1", 2) {
				for range 1 + upTo(t, "jobs - 1", 3) {
					id++
					w.drawWaiting(t, id)
				}
				before := fmt.Sprintf("%+v\n%+v", w.Snap.Jobs, w.Snap.Reservations)
				changed = append(changed, w.drawChange(t)...) // a changed job's door may end much later
				if wrong := passes(w.World, pick(t, "passes", 8, 8, 1, 2), changed...); len(wrong) > 0 {
					t.Fatalf("%s\nin\n%s", strings.Join(wrong, "\n"), before)
				}
			}
		})
	}
}

// drawPartitions draws a cluster of three partitions. Some nodes run jobs, are idle or down.
func drawPartitions(t *rapid.T) severalPlaces {
	size := 1 + upTo(t, "nodes - 1", 2)
	w := severalPlacesOf(size)
	w.Config.Options.MaxActiveRequests = pick(t, "max_active_requests", 1000, 1000, 2, 1)
	w.Snap.Jobs, w.Snap.Reservations = nil, nil
	for i := range w.Snap.Nodes {
		w.drawUse(t, uint32(1+i), w.Snap.Nodes[i].Name)
		w.Snap.Nodes[i].Features = pick(t, "features", nil, []string{"rack2"})
	}
	for _, p := range w.Snap.Partitions {
		slices.Reverse(p.Nodes) // Slurm plans other nodes than the lowest
	}
	return w
}

// drawChange cancels, holds or changes one of the waiting jobs, or none, and returns its ID.
func (w severalPlaces) drawChange(t *rapid.T) (changed []uint32) {
	i := slices.IndexFunc(w.Snap.Jobs, func(j slurm.Job) bool { return j.State == slurm.JobPending })
	i += upTo(t, "changed", len(w.Snap.Jobs)-i-1)
	j := &w.Snap.Jobs[i]
	switch pick(t, "change", "", "", "", "cancelled", "held", "larger", "excludes") {
	case "":
		return nil
	case "cancelled":
		defer func() { w.Snap.Jobs = slices.Delete(w.Snap.Jobs, i, i+1) }()
	case "held":
		j.Priority, j.Reason = 0, "JobHeldUser"
	case "larger":
		j.NodeCount++
	case "excludes":
		j.Excludes = []string{pick(t, "excluded", w.Snap.Nodes...).Name}
	}
	return []uint32{j.ID}
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
func (w severalPlaces) drawWaiting(t *rapid.T, id uint32) {
	j := w.submit(id, pick(t, "partitions", "us", "eu", "us,eu", "eu,us", "us,eu,od", "od,us"))
	j.Priority, j.NodeCount = uint64(1+upTo(t, "priority - 1", 9)), 1+upTo(t, "needed nodes - 1", 2)
	j.Limit.Duration = pick(t, "limit", 30*time.Minute, 2*time.Hour, 10*time.Hour)
	if j.Features = pick(t, "constraint", "", "", "rack2", "rack2 rack9", "rack9"); j.Features == "rack9" { // Slurm plans such a job later
		j.Planned, j.Start = []string{pick(t, "planned", w.Snap.Nodes...).Name}, noon.Add(25*time.Hour)
	}
	switch node := pick(t, "node", w.Snap.Nodes...).Name; pick(t, "it is", "any", "any", "any", "required", "excluded") {
	case "required":
		j.Needs = []string{node}
	case "excluded":
		j.Excludes = []string{node}
	}
}

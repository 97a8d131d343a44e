package demand

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"slurmflex/config"
	"slurmflex/flex/plan/scene"
	"slurmflex/slurm"
)

// want is a pending job that gets a new door.
type want struct {
	Job     *slurm.Job
	Address string // of the job, or of one array task
	Set     *config.NodeSet
	Nodes   []string // the node names for its machines
	Open    bool     // its door opens at once: its machines are up
	Inherit bool     // it keeps machines from before it lost others
	Further bool     // the job already has a door elsewhere and uses that one
}

// doorsAtOnce limits how many doors a pass makes. Each takes two calls to slurmctld.
const doorsAtOnce = 200

// lateOf returns what is remembered of a job that did not start in time, or got no reservation.
func lateOf(s *scene.Scene, j *slurm.Job) scene.Late { return s.Seen.Late[cmp.Or(j.HetID, j.ID)] }

// isLate reports whether the job failed to start, or got no reservation, within the last minutes.
func isLate(s *scene.Scene, j *slurm.Job) bool { return lateOf(s, j).Until.After(s.Seen.Now) }

// isUnclaimed reports whether the vacant node has a new machine whose job no longer waited. A machine
// whose node Slurm has powered down would not register again.
func (h *handout) isUnclaimed(m *scene.Node) bool {
	return m.IsVacant() && isSound(h.Scene, m) && m.Machines[0].Origin.ForJobs() && !m.Machines[0].Leaving() && !m.IsPoweredDown(m.Machines[0]) &&
		!h.IsOld(m.Machines[0].Created, scene.OrphanedAfter)
}

// misleads reports whether Slurm may not plan jobs on the node for the horizon: others have reserved it until
// before the horizon, and no cover closes it afterwards, or from a time later than the horizon, too early for a job
// that starts then, but perhaps not for one that starts now.
func misleads(s *scene.Scene, m *scene.Node) bool {
	return slices.ContainsFunc(m.Others, func(r *slurm.Reservation) bool { return r.End.Before(s.Horizon) || r.Start.After(s.Horizon) })
}

// forOthers returns a reservation of the node that is not ours and has started, or starts before the job
// would end; nil without one.
func forOthers(s *scene.Scene, m *scene.Node, j *slurm.Job) *slurm.Reservation {
	for _, r := range m.Others {
		if !r.Start.After(s.Seen.Now.Add(runsFor(j))) {
			return r
		}
	}
	return nil
}

// IsForOthers reports whether there is such a reservation.
func IsForOthers(s *scene.Scene, m *scene.Node, j *slurm.Job) bool { return forOthers(s, m, j) != nil }

// isWarm reports whether the node is idle and available to any job.
func isWarm(m *scene.Node) bool {
	return m.Power == scene.On && m.Idle() && !m.Taken() && !m.Cover && m.Door == nil &&
		m.State.Base != slurm.Down && m.State.Flags&(slurm.PowerDown|slurm.NotResponding) == 0
}

// usable returns the idle nodes that the job does not exclude and that last as long as the job may
// run. Nodes that the job requires sort first. It returns none if too few of these
// are among them.
func usable(s *scene.Scene, warm []*scene.Node, j *slurm.Job) []*scene.Node {
	var asked, left []*scene.Node
	for _, m := range warm {
		switch {
		case slices.Contains(j.Excludes, m.Name):
		case !lastsFor(s, m, j):
		case slices.Contains(j.Needs, m.Name):
			asked = append(asked, m)
		default:
			left = append(left, m)
		}
	}
	if len(asked) < min(len(j.Needs), max(j.NodeCount, 1)) {
		return nil
	}
	return append(asked, left...)
}

// lastsFor reports whether the node's machine lasts as long as the job may run, as far as known. A
// job without a time limit fits only a machine without an end.
func lastsFor(s *scene.Scene, m *scene.Node, j *slurm.Job) bool {
	until, _ := s.FreeUntil(m)
	return until.IsZero() || !s.Seen.Now.Add(runsFor(j)).After(until)
}

// runsFor returns how long the job may run.
func runsFor(j *slurm.Job) time.Duration {
	if j.Limit.Kind != slurm.LimitSet {
		return config.NoLease
	}
	return j.Limit.Duration
}

// runningTasks counts the tasks of each array that have nodes.
func runningTasks(s *scene.Scene) map[uint32]int {
	count := map[uint32]int{}
	for i := range s.Seen.Jobs {
		if j := &s.Seen.Jobs[i]; j.Array() != 0 && j.State.HoldsNodes() {
			count[j.Array()]++
		}
	}
	return count
}

// tasksAtWork counts the tasks of each array that have nodes or a door.
func tasksAtWork(s *scene.Scene) map[uint32]int {
	count := runningTasks(s)
	for _, d := range s.Doors {
		switch {
		case d.Place != 0, d.Changed:
		case d.Taker != nil && d.Taker.Array() != 0:
			count[d.Taker.Array()]++
		case d.Job != nil && d.Job.IsTasks():
			count[d.Job.ArrayID]++ // its task has no record of its own yet
		}
	}
	return count
}

// roomBeside returns how many tasks of the job's array may get doors beside those at work.
func (h *handout) roomBeside(j *slurm.Job) int {
	if throttle := h.Throttle(j); throttle > 0 {
		return min(doorsAtOnce, throttle-h.tasks[j.Array()])
	}
	return doorsAtOnce
}

// addresses returns the addresses of the jobs that a row stands for, without those that have a
// door: of array tasks at most that many, lowest first.
func addresses(j *slurm.Job, most int, has map[string]bool) (list []string) {
	if !j.IsTasks() {
		if has[j.Address()] || most <= 0 {
			return nil
		}
		return []string{j.Address()}
	}
	for _, task := range j.Tasks() {
		if address := fmt.Sprintf("%d_%d", j.ArrayID, task); len(list) < most && !has[address] {
			list = append(list, address)
		}
	}
	return list
}

// The times of doors.
const (
	// DoorAhead is how far ahead a door starts. If no daemon moves the door by then, Slurm
	// allocates its nodes to the job. slurmctld may be away for ten minutes before a door starts.
	DoorAhead = 15 * time.Minute

	// lateAfter is how long a job with all its machines may take to start after its door has
	// opened. Slurm's backfill starts jobs with a range of node counts, and may take its whole
	// interval of 30 s.
	lateAfter = 40 * time.Second

	// KeptFor is how long the nodes and the request of a changed job are kept for it until Slurm has
	// planned it again: several cycles of backfill.
	KeptFor = 2 * time.Minute

	// DoorPurge is how long Slurm keeps a door that no job uses.
	DoorPurge = 5 * time.Minute
)

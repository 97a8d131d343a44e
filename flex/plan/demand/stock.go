package demand

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"slurmflex/config"
	"slurmflex/flex/plan/action"
	"slurmflex/flex/plan/scene"
	"slurmflex/slurm"
)

// stock counts the nodes of a nodeset: those that a waiting job may get, and those that jobs have.
type stock struct {
	set         *config.NodeSet
	free, taken int
	idle        int      // with a machine that no job has
	others      int      // out of service, powering down, or closed for another reason
	by          []string // the jobs that have the taken nodes, as squeue shows them
	frees       time.Time
}

// stocks counts the nodes of each nodeset once.
type stocks struct {
	scene  *scene.Scene
	isFree func(*scene.Node) bool
	of     map[*config.NodeSet]*stock
}

// Unheld returns a function that returns why a pending job which is not held back lacks nodes, and when the
// first job that has some of them ends at the latest: its array's own limit, or too few free nodes.
// Slurm may allocate idle nodes at any time, unless the nodeset's jobs wait pending.
func Unheld(s *scene.Scene) func(*slurm.Job) (why string, frees time.Time) {
	const unfit = slurm.PoweringDown | slurm.Drain | slurm.Fail | slurm.Maintenance
	all := stocks{scene: s, of: map[*config.NodeSet]*stock{}, isFree: func(m *scene.Node) bool {
		return m.State.IsIdle() && !m.State.Held() && m.State.Flags&unfit == 0 && len(m.Holders) == 0 && m.Door == nil
	}}
	ours := map[*config.NodeSet]bool{}
	for _, set := range s.Config.FlexSets() {
		ours[set] = true
	}
	return func(j *slurm.Job) (why string, frees time.Time) {
		throttle := s.Throttle(j)
		switch {
		case !j.State.Waits():
		case throttle > 0 && strings.HasPrefix(j.Reason, "JobArrayTaskLimit"):
			return ownLimit(throttle), time.Time{}
		case slurm.LacksNodes(j.Reason):
			if short := all.shortOf(j, PlacesOf(s, ours, j)); short != nil {
				return short.text(s, j), short.frees
			}
		}
		return "", time.Time{}
	}
}

// shortOf returns the stock of that nodeset of places which has most free nodes, if these are too few
// for the job; otherwise nil. It leaves out nodesets without known nodes.
func (t stocks) shortOf(j *slurm.Job, places []*config.NodeSet) *stock {
	var most *stock
	for _, set := range places {
		of := t.count(set)
		if size := of.free + of.taken + of.idle + of.others; size > 0 && (most == nil || size >= j.NodeCount && of.free > most.free) {
			most = of
		}
	}
	if most == nil || most.free >= max(j.NodeCount, 1) {
		return nil
	}
	return most
}

// count returns the stock of the nodeset.
func (t stocks) count(set *config.NodeSet) *stock {
	if of := t.of[set]; of != nil {
		return of
	}
	of := &stock{set: set}
	t.of[set] = of
	for _, m := range t.scene.Nodes() {
		if m.Set != set {
			continue
		}
		holders := m.Holders
		if m.Door != nil && m.Door.Job != nil {
			holders = append(slices.Clone(holders), m.Door.Job)
		}
		switch {
		case t.isFree(m):
			of.free++
		case isWarm(m):
			of.idle++
		case len(holders) == 0:
			of.others++
		default:
			of.taken++
		}
		for _, j := range holders {
			if name := j.Name(); !slices.Contains(of.by, name) {
				of.by = append(of.by, name)
			}
			if end := endOf(t.scene, j); !end.IsZero() && (of.frees.IsZero() || end.Before(of.frees)) {
				of.frees = end
			}
		}
	}
	return of
}

// endOf returns when a job at work ends at the latest; zero if unknown.
func endOf(s *scene.Scene, j *slurm.Job) time.Time {
	end := s.FirstEnd(j).At
	if j.Limit.Kind == slurm.LimitSet && !j.Start.IsZero() && j.State.AtWork() {
		if limit := j.Start.Add(j.Limit.Duration); end.IsZero() || limit.Before(end) {
			end = limit
		}
	}
	return end
}

// shownJobs is how many jobs a text names.
const shownJobs = 4

// text describes how many nodes the job needs, and which jobs have the others.
func (t *stock) text(s *scene.Scene, j *slurm.Job) string {
	text := fmt.Sprintf("needs %s; %d of nodeset %s %s free", action.Amount(max(j.NodeCount, 1), "node"), t.free, t.set.Name, be(t.free))
	if t.taken > 0 {
		shown, more := t.by[:min(len(t.by), shownJobs)], ""
		if n := len(t.by) - len(shown); n > 0 {
			more = fmt.Sprintf(" and %d more", n)
		}
		noun := "jobs"
		if len(t.by) == 1 {
			noun = "job"
		}
		text += fmt.Sprintf(", %d taken by %s %s%s", t.taken, noun, strings.Join(shown, ", "), more)
	}
	if t.idle > 0 {
		text += fmt.Sprintf(", %d with idle machines", t.idle)
		if ahead := Horizon(s).Sub(s.Seen.Now); runsFor(j) > ahead && Covered(s)[t.set] {
			text += fmt.Sprintf(", which start no job of more than %s (bf_window)", slurm.Clock(ahead))
		}
	}
	if t.others > 0 {
		text += fmt.Sprintf(", %d %s out of service", t.others, be(t.others))
	}
	return text
}

func be(n int) string {
	if n == 1 {
		return "is"
	}
	return "are"
}

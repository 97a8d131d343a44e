package demand

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"slurmflex/config"
	"slurmflex/flex/plan/action"
	"slurmflex/flex/plan/scene"
	"slurmflex/slurm"
)

// stock counts a nodeset's nodes for a job: those that it may get, those that jobs have, and the others by why
// it cannot get them.
type stock struct {
	set         *config.NodeSet
	free, taken int
	idle        []*scene.Node // with a machine
	others      map[string]int
	by          []string // the jobs that have the taken nodes, as squeue shows them
	frees       time.Time
}

// Why a job cannot get nodes that no job has.
const (
	idleTooShort = "with idle machines whose lease ends before it would"
	idleTooLong  = "with idle machines, which start no job of more than %s (bf_window)"
	idleOnly     = "with idle machines"
	reserved     = "reserved for others"
	poweringDown = "being powered down"
	poweringUp   = "powering up for no job"
	outOfService = "out of service"
	excluded     = "excluded by the job"
	unfit        = "without what it requests"
)

// reasons is the order in which a text names them.
var reasons = []string{idleTooShort, idleTooLong, idleOnly, reserved, poweringDown, poweringUp, outOfService, excluded, unfit}

// stocks counts the nodes of each nodeset once for like jobs.
type stocks struct {
	scene   *scene.Scene
	covered map[*config.NodeSet]bool
	isFree  func(*scene.Node) bool
	of      map[string]*stock
}

// Unheld returns a function that returns why a pending job which is not held back lacks nodes, and when the
// first job that has some of them ends at the latest: its array's own limit, or too few free nodes.
// Slurm may allocate idle nodes at any time, unless the nodeset's jobs wait pending.
func Unheld(s *scene.Scene) func(*slurm.Job) (why string, frees time.Time) {
	const unfit = slurm.PoweringDown | slurm.Drain | slurm.Fail | slurm.Maintenance
	all := stocks{scene: s, covered: s.Covered(), of: map[string]*stock{}, isFree: func(m *scene.Node) bool {
		return m.State.IsIdle() && !m.State.Held() && m.State.Flags&unfit == 0 && len(m.Holders) == 0 && m.Door == nil
	}}
	return func(j *slurm.Job) (why string, frees time.Time) {
		throttle := s.Throttle(j)
		switch {
		case !j.State.Waits():
		case throttle > 0 && strings.HasPrefix(j.Reason, "JobArrayTaskLimit"):
			return ownLimit(throttle), time.Time{}
		case slurm.LacksNodes(j.Reason) && !strings.Contains(j.Reason, "maintenance"): // it does not end before a lease
			if short := all.shortOf(j, s.PlacesOf(nil, j)); short != nil {
				return all.text(short, j), short.frees
			}
		}
		return "", time.Time{}
	}
}

// shortOf returns the stock of that nodeset of places which has most free nodes, if these are too few
// for the job; otherwise nil. It leaves out nodesets without known nodes that may fit the job.
func (t stocks) shortOf(j *slurm.Job, places []*config.NodeSet) *stock {
	isKnown := slices.ContainsFunc(t.scene.Nodes, func(m *scene.Node) bool { return slices.Contains(places, m.Set) && j.FitsAlike(*m.Node) })
	var most *stock
	for _, set := range places {
		of := t.count(set, j, isKnown)
		size := of.free + of.taken + len(of.idle) - of.others[excluded] - of.others[unfit]
		for _, n := range of.others {
			size += n
		}
		if size > 0 && (most == nil || size >= j.NodeCount && of.free > most.free) {
			most = of
		}
	}
	if most == nil || most.free >= max(j.NodeCount, 1) {
		return nil
	}
	return most
}

// count returns the stock of the nodeset for the job. If isKnown, nodes that are not certain to have what
// the job requests lack it.
func (t stocks) count(set *config.NodeSet, j *slurm.Job, isKnown bool) *stock {
	key := fmt.Sprint(set.Name, j.Digest(), j.Excludes, isKnown)
	if slices.ContainsFunc(t.scene.Nodes, func(m *scene.Node) bool { return len(m.Others) > 0 }) {
		key += runsFor(j).String()
	}
	if of := t.of[key]; of != nil {
		return of
	}
	of := &stock{set: set, others: map[string]int{}}
	t.of[key] = of
	for _, m := range t.scene.Nodes {
		if m.Set != set {
			continue
		}
		holders := m.Holders
		if m.Door != nil && m.Door.Job != nil {
			holders = append(slices.Clone(holders), m.Door.Job)
		}
		switch {
		case slices.Contains(j.Excludes, m.Name):
			of.others[excluded]++
			continue
		case isKnown && !j.FitsAlike(*m.Node):
			of.others[unfit]++
			continue
		case IsForOthers(t.scene, m, j):
			of.others[reserved]++
		case t.isFree(m):
			of.free++
		case len(holders) > 0:
			of.taken++
		case isWarm(m):
			of.idle = append(of.idle, m)
		default:
			of.others[t.unfreed(m)]++
		}
		for _, holder := range holders {
			if name := holder.Name(); !slices.Contains(of.by, name) {
				of.by = append(of.by, name)
			}
			if end := endOf(t.scene, holder); !end.IsZero() && (of.frees.IsZero() || end.Before(of.frees)) {
				of.frees = end
			}
		}
	}
	return of
}

// unfreed returns why no job can get a node that no job has.
func (t stocks) unfreed(m *scene.Node) string {
	switch {
	case m.IsWithdrawn():
		return outOfService
	case m.State.Has(slurm.PoweringDown) || m.State.Has(slurm.PowerDown) || m.Present() && m.Power == scene.Off:
		return poweringDown
	case m.Power == scene.Rising:
		return poweringUp
	}
	return outOfService
}

// unused returns why the job cannot use an idle machine.
func (t stocks) unused(m *scene.Node, j *slurm.Job) string {
	switch {
	case !lastsFor(t.scene, m, j):
		return idleTooShort
	case t.covered[m.Set] && !m.Static && t.scene.Seen.Now.Add(runsFor(j)).After(t.scene.Horizon):
		return idleTooLong
	}
	return idleOnly
}

// endOf returns when a job at work ends at the latest; zero if unknown.
func endOf(s *scene.Scene, j *slurm.Job) time.Time {
	end := s.Ends[j.ID].At
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
func (t stocks) text(of *stock, j *slurm.Job) string {
	text := fmt.Sprintf("needs %s; %d of nodeset %s %s free", action.Amount(max(j.NodeCount, 1), "node"), of.free, of.set.Name, be(of.free))
	if of.taken > 0 {
		shown, more := of.by[:min(len(of.by), shownJobs)], ""
		if n := len(of.by) - len(shown); n > 0 {
			more = fmt.Sprintf(" and %d more", n)
		}
		noun := "jobs"
		if len(of.by) == 1 {
			noun = "job"
		}
		text += fmt.Sprintf(", %d taken by %s %s%s", of.taken, noun, strings.Join(shown, ", "), more)
	}
	counts := maps.Clone(of.others)
	for _, m := range of.idle {
		counts[t.unused(m, j)]++
	}
	ahead := slurm.Clock(t.scene.Horizon.Sub(t.scene.Seen.Now).Round(time.Minute))
	for _, why := range reasons {
		if n := counts[why]; n > 0 {
			text += fmt.Sprintf(", %d %s", n, strings.ReplaceAll(why, "%s", ahead))
		}
	}
	return text
}

func be(n int) string {
	if n == 1 {
		return "is"
	}
	return "are"
}

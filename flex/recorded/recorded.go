// Package recorded reconstructs a job's story from the history, in the words that the daemon uses
// for its own observations. The history contains the job's waits and machines. It lacks events that
// only passes observe, such as lost machines.
package recorded

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"slurmflex/config"
	"slurmflex/flex/history"
	"slurmflex/flex/view"
	"slurmflex/slurm"
)

// Join joins what the daemon has seen of a job, if a daemon runs, with the cluster's history of the
// job. If both are empty, past is nil, and why says so.
func Join(cfg *config.Config, daemon bool, seen *view.Past, job string) (past *view.Past, why string) {
	past, err := fromHistory(cfg.Options.StateDir, cfg.Cluster, job)
	if err != nil {
		return seen, Unknown(err)
	}
	why = fmt.Sprintf("its story is unknown: the history in %s does not have it", cfg.Options.StateDir)
	if daemon {
		why = fmt.Sprintf("its story is unknown: the daemon has not seen it in the last day, and the history in %s does not have it", cfg.Options.StateDir)
	}
	return seen.Join(past), why
}

// Unknown returns the text for a story that is unknown because of an error.
func Unknown(err error) string {
	return fmt.Sprintf("its story is unknown: %s", view.Printable(err.Error()))
}

// fromHistory returns the history of the job that squeue shows by that name, or that has it as its raw
// id. It returns nil if the history does not contain the job. dir is the folder of the history.
func fromHistory(dir, cluster, name string) (*view.Past, error) {
	r := &record{name: name}
	for _, kind := range []history.Kind{history.Wait, history.Lease} {
		if _, err := history.Read(dir, cluster, kind, r.take); err != nil {
			return nil, err
		}
	}
	r.last()
	if len(r.waits)+len(r.uses)+len(r.made) == 0 {
		return nil, nil
	}
	past := &view.Past{Job: r.job(), From: dir, Events: r.events()}
	if !r.goesOn() {
		past.EndedAt = r.end().Time()
	}
	return past, nil
}

// record holds the lines of one job.
type record struct {
	name  string
	waits []history.Entry
	made  []history.Entry // leases of machines that were created for the job
	uses  []use
}

// use is the job on a machine.
type use struct {
	history.Use
	node    string
	machine string // type
	goesOn  bool
}

// take keeps the entry if it concerns the job.
func (r *record) take(e *history.Entry) {
	switch {
	case !r.isOf(e.Who):
	case e.Kind == history.Wait:
		r.waits = append(r.waits, *e)
	default:
		made := *e
		made.Uses = nil
		r.made = append(r.made, made)
	}
	for _, u := range e.Uses {
		if r.isOf(u.Who) {
			r.uses = append(r.uses, use{u, e.Node, e.Machine, e.Ongoing && u.To == e.To})
		}
	}
}

// isOf reports whether who is the job. An array's last task has the array's id as its raw id.
func (r *record) isOf(who history.Who) bool {
	id := fmt.Sprint(who.Job)
	return who.Job != 0 && (r.name == cmp.Or(who.Name, id) || r.name == id && !strings.HasPrefix(who.Name, id+"_"))
}

// reused is the longest time between two lines of the same job.
const reused = history.Time(view.Reused / time.Second)

// last drops the lines of earlier jobs with the same number.
func (r *record) last() {
	type line struct {
		who      history.Who
		from, to history.Time
	}
	var all []line
	for _, e := range slices.Concat(r.waits, r.made) {
		all = append(all, line{e.Who, e.From, e.To})
	}
	for _, u := range r.uses {
		all = append(all, line{u.Who, u.From, u.To})
	}
	slices.SortFunc(all, func(a, b line) int { return cmp.Compare(b.from, a.from) })
	if len(all) == 0 {
		return
	}
	first, user := all[0].from, all[0].who.User
	for _, l := range all {
		if l.to+reused < first || l.who.User != "" && user != "" && l.who.User != user {
			break
		}
		first, user = l.from, cmp.Or(user, l.who.User)
	}
	before := func(e history.Entry) bool { return e.From < first }
	r.waits, r.made = slices.DeleteFunc(r.waits, before), slices.DeleteFunc(r.made, before)
	r.uses = slices.DeleteFunc(r.uses, func(u use) bool { return u.From < first })
}

// job returns the job as far as the history knows it.
func (r *record) job() view.Job {
	var who history.Who
	told, at := "", history.Time(-1)
	note := func(w history.Who, text string, to history.Time) {
		who.Job, who.Name = w.Job, cmp.Or(w.Name, who.Name)
		who.User, who.Partition = cmp.Or(w.User, who.User), cmp.Or(w.Partition, who.Partition)
		if text != "" && to >= at {
			told, at = text, to
		}
	}
	for _, e := range slices.Concat(r.made, r.waits) {
		note(e.Who, e.Told, e.To)
	}
	for _, u := range r.uses {
		note(u.Who, u.Told, u.To)
	}
	job := view.JobNamed(who.Job, who.Name)
	job.User, job.Partition, job.Told = who.User, who.Partition, told
	return job
}

// goesOn reports whether a wait or a use of the job had not ended at the last observation.
func (r *record) goesOn() bool {
	return slices.ContainsFunc(r.waits, func(e history.Entry) bool { return e.Ongoing }) ||
		slices.ContainsFunc(r.uses, func(u use) bool { return u.goesOn })
}

// end returns when the job was last seen.
func (r *record) end() (at history.Time) {
	for _, e := range r.waits {
		at = max(at, e.To)
	}
	for _, u := range r.uses {
		at = max(at, u.To)
	}
	for _, e := range r.made {
		if len(r.uses) == 0 {
			at = max(at, e.To)
		}
	}
	return at
}

// events returns the job's events except its end, oldest first.
func (r *record) events() []view.Event {
	var all []view.Event
	note := func(at history.Time, kind, text string) {
		all = append(all, view.Event{At: at.Time(), Kind: kind, Text: text})
	}
	for _, e := range r.waits {
		note(e.From, view.EventRequested, fmt.Sprintf("%s for %s in %s",
			view.Count(e.Count, "node"), view.Seconds(e.Seconds*int64(time.Second)).Limit(), e.Region))
		switch {
		case e.Ongoing:
		case e.End == history.Granted && len(r.made) == 0:
			note(e.To, view.EventGranted, "")
		case e.End == history.Failed:
			note(e.To, view.EventFailed, fmt.Sprintf("attempt %d: %s", e.Attempts, cmp.Or(e.Cause, "unknown")))
		case e.End == history.Withdrawn:
			note(e.To, view.EventWithdrawn, "")
		case e.End == history.Moved:
			note(e.To, view.EventWithdrawn, "the job waits in another partition or nodeset")
		}
	}
	for _, batch := range together(r.made) {
		var names []string
		up := history.Time(0)
		for _, e := range batch {
			names = append(names, e.Node)
			if e.Booting > 0 && e.Booting < e.Took() {
				up = max(up, e.From+history.Time(e.Booting))
			}
		}
		note(batch[0].From, view.EventGranted, slurm.Fold(names))
		if up != 0 {
			note(up, view.EventBooted, slurm.Fold(names))
		}
	}
	runs := r.runs()
	for i, run := range runs {
		note(run.from, view.EventRunning, "on "+slurm.Fold(run.nodes))
		all[len(all)-1].Machines = view.CountMachines(run.machines)
		if i+1 < len(runs) || r.waitsAfter(run) {
			note(run.to, view.EventRequeued, "")
		}
	}
	slices.SortStableFunc(all, func(a, b view.Event) int { return a.At.Compare(b.At) })
	return all
}

// clocks is how far Compute's clock, which times the start of a wait, may be from the host's.
const clocks = history.Time(time.Minute / time.Second)

// waitsAfter reports whether the job waited again after its last run. A job that runs requests no
// machines.
func (r *record) waitsAfter(last run) bool {
	return slices.ContainsFunc(r.waits, func(e history.Entry) bool { return e.From > last.from && e.From >= last.to-clocks })
}

// together groups leases with machines that were created within a minute of each other.
func together(leases []history.Entry) (batches [][]history.Entry) {
	leases = slices.SortedStableFunc(slices.Values(leases), func(a, b history.Entry) int { return cmp.Compare(a.From, b.From) })
	for _, e := range leases {
		if n := len(batches); n > 0 {
			if last := batches[n-1]; e.From-last[len(last)-1].From <= 60 {
				batches[n-1] = append(last, e)
				continue
			}
		}
		batches = append(batches, []history.Entry{e})
	}
	return batches
}

// run is a period of uninterrupted running.
type run struct {
	from, to history.Time
	nodes    []string
	machines []string // the types of the nodes' machines
}

func (r *record) runs() (runs []run) {
	slices.SortStableFunc(r.uses, func(a, b use) int { return cmp.Compare(a.From, b.From) })
	for _, u := range r.uses {
		if n := len(runs); n > 0 && u.From <= runs[n-1].to {
			last := &runs[n-1]
			last.to = max(last.to, u.To)
			if !slices.Contains(last.nodes, u.node) {
				last.nodes, last.machines = append(last.nodes, u.node), append(last.machines, u.machine)
			}
			continue
		}
		runs = append(runs, run{u.From, u.To, []string{u.node}, []string{u.machine}})
	}
	return runs
}

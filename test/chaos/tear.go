package chaos

import (
	"fmt"
	"slices"
	"time"

	"slurmflex/config"
)

// firstTorn is the script's number of the first job that loses a machine.
const firstTorn = 700

// tear describes how a running job loses a machine, and further trouble afterwards.
type tear struct {
	job    int
	after  time.Duration // since the job's start
	how    loss
	then   loss          // loss of another machine; empty: none
	later  time.Duration // delay of the second loss
	killed time.Duration // how long the daemon, killed soon after, stays away; 0: not killed
	calls  int           // calls before its end
}

func (e tear) String() string {
	text := fmt.Sprintf("when job %d has run for %v, one of its machines %s", e.job, e.after, e.how)
	if e.then != "" {
		text += fmt.Sprintf(", and %v later another %s", e.later, e.then)
	}
	if e.killed > 0 {
		text += fmt.Sprintf("; the daemon is killed %d calls later, and started after %v", e.calls, e.killed)
	}
	return text
}

// strike waits until the job has run for long enough.
func (e tear) strike(w *world, _ int) {
	w.lieInWait(func() bool {
		id, known := w.jobs[e.job]
		l := w.watch.queued(func(l *life) bool { return known && l.ID == id && !l.runs.IsZero() && time.Since(l.runs) >= e.after })
		if l != nil {
			w.journal.note("%v", e)
			e.befall(w, l)
		}
		return l != nil
	})
}

// befall makes the job lose a machine, and later another one of its present or earlier
// machines.
func (e tear) befall(w *world, l *life) {
	nodes := l.Nodes
	loseMachine(w, nodes[0], e.how)
	if e.killed > 0 {
		kill{e.calls, false, e.killed}.strike(w, 0)
	}
	if e.then == "" {
		return
	}
	time.AfterFunc(e.later, func() {
		now := w.watch.queued(func(other *life) bool { return other.ID == l.ID && len(other.Nodes) > 0 })
		if now != nil {
			nodes = now.Nodes
		}
		last := nodes[len(nodes)-1]
		if in, there := w.state().Instance(last); there && in.Status == "RUNNING" && time.Since(w.begun) < storm {
			loseMachine(w, last, e.then)
		}
	})
}

// tears returns a day's losses, if its setup keeps surviving nodes.
func (d dice) tears() (script []appointment) {
	s := newSetup(d)
	if s.waiting != config.Pending {
		return nil
	}
	sets := slices.DeleteFunc(nodeSets(), func(set nodeSet) bool { return !s.salvages(set) })
	if len(sets) == 0 {
		return nil
	}
	ways := []loss{vanishes, stops, hostFails}
	for i := range d.number(1, 2, "tears") {
		set := pick(d, append(sets, sets[0]), "torn", i)
		limit := d.minutes(35, 60, "torn limit", i)
		e := tear{job: firstTorn + i, after: d.minutes(4, 12, "torn after", i), how: pick(d, ways, "torn how", i)}
		if d.oneIn(4, "torn again", i) {
			e.then, e.later = pick(d, ways, "torn again how", i), d.span(20*time.Second, 8*time.Minute, "torn again when", i)
		}
		if d.oneIn(3, "torn and killed", i) {
			e.calls, e.killed = d.below(30, "torn calls", i), d.span(3*time.Second, 4*time.Minute, "torn and killed", i).Truncate(time.Second)
		}
		at := d.span(0, storm/2, "torn begins", i)
		script = append(script, appointment{at: at, event: submit{
			job: e.job, partition: set.name, nodes: d.number(2, set.dynamic-1, "torn width", i), limit: limit, run: limit * 9 / 10, priority: 200,
		}}, appointment{at: at, event: e})
	}
	return script
}

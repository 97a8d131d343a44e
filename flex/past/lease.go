package past

import (
	"maps"
	"slices"
	"strings"
	"time"

	"slurmflex/flex/plan/scene"
	"slurmflex/flex/view"
	"slurmflex/slurm"
)

// Use is a use of a lease's machine, from a time on.
type Use struct {
	From  time.Time
	State view.State
	Jobs  string // as in squeue
}

// lease identifies a machine: its group, which is empty for a machine without one, and its name.
type lease struct{ group, node string }

// used holds the uses of a lease.
type used struct {
	uses []Use
	look int // the last of Day.looks that showed it
}

// Uses returns the uses of a row's machines, oldest first. Earlier uses are unknown.
func (d *Day) Uses(r view.Row) []Use {
	names, _ := slurm.Expand(r.Nodes)
	return d.leases[lease{r.Group, append(names, "")[0]}].uses
}

// use records how each lease is used.
func (d *Day) use(l *look) {
	d.looks++
	for in := range l.machines {
		key := lease{in.Group, in.Name}
		is, state, jobs := d.leases[key], view.StateOf(in), l.names(in)
		if n := len(is.uses); n == 0 || is.uses[n-1].State != state || is.uses[n-1].Jobs != jobs {
			is.uses = append(slices.Clip(is.uses), Use{From: l.begin(in, state, n == 0), State: state, Jobs: jobs})
			is.uses = is.uses[max(0, len(is.uses)-mostUses):]
		}
		is.look = d.looks
		d.leases[key] = is
	}
	maps.DeleteFunc(d.leases, func(_ lease, of used) bool { return of.look != d.looks })
}

// names lists the jobs that hold a machine, as squeue shows them.
func (l *look) names(in scene.Machine) string {
	var names []string
	for _, j := range l.scene.HoldersOf(in.Name) {
		names = append(names, j.Name())
	}
	return strings.Join(names, ",")
}

// begin returns when a machine entered its present state, as far as known. For a machine that is
// seen for the first time, that may be before the first observation.
func (l *look) begin(in scene.Machine, state view.State, first bool) time.Time {
	at := l.at
	if first && state == view.Booting && !in.Created.IsZero() {
		return second(in.Created)
	}
	for _, j := range l.scene.HoldersOf(in.Name) {
		if start := second(j.Start); first && state == view.Running && start.After(second(in.Created)) && start.Before(at) {
			at = start
		}
	}
	return at
}

package past

import (
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
	jobs []uint32 // the raw ids of the last use's jobs
}

// Uses returns the uses of a row's machines, oldest first. Earlier uses are unknown.
func (d *Day) Uses(r view.Row) []Use {
	names, _ := slurm.Expand(r.Nodes)
	return d.leases.Known(lease{r.Group, append(names, "")[0]}).uses
}

// use records how each lease is used.
func (d *Day) use(l *look) {
	for in := range l.machines {
		of, _ := d.leases.Show(lease{in.Group, in.Name}, in.Region)
		of.see(l, in)
	}
	d.leases.Close(l.scene, nil)
}

// see adds a use if the machine's state or jobs have changed.
func (u *used) see(l *look, in scene.Machine) {
	state, jobs, n := view.StateOf(in), l.holdersOf(in), len(u.uses)
	if n > 0 && u.uses[n-1].State == state && slices.EqualFunc(u.jobs, jobs, func(id uint32, j *slurm.Job) bool { return id == j.ID }) {
		return
	}
	var names []string
	u.jobs = nil
	for _, j := range jobs {
		u.jobs, names = append(u.jobs, j.ID), append(names, j.Name())
	}
	u.uses = append(slices.Clip(u.uses), Use{From: l.begin(in, state, n == 0), State: state, Jobs: strings.Join(names, ",")})
	u.uses = u.uses[max(0, n+1-mostUses):]
}

// holdersOf returns the jobs that hold a machine.
func (l *look) holdersOf(in scene.Machine) []*slurm.Job {
	if in.Node != nil {
		return in.Node.Holders
	}
	return l.scene.HoldersOf(in.Name)
}

// begin returns when a machine entered its present state, as far as known. For a machine that is
// seen for the first time, that may be before the first observation.
func (l *look) begin(in scene.Machine, state view.State, first bool) time.Time {
	at := l.at
	if first && state == view.Booting && !in.Created.IsZero() {
		return second(in.Created)
	}
	for _, j := range l.holdersOf(in) {
		if start := second(j.Start); first && state == view.Running && start.After(second(in.Created)) && start.Before(at) {
			at = start
		}
	}
	return at
}

package past

import (
	"slices"
	"time"

	"slurmflex/flex/view"
	"slurmflex/slurm"
)

// Use is a use of a lease's machines, from a time on.
type Use struct {
	From  time.Time
	State view.State
	Jobs  string // as in squeue
}

// lease identifies the machines of a row: its group, and its nodes as a hostlist.
type lease struct{ group, nodes string }

// Uses returns the uses of a row's machines, oldest first. Earlier uses are unknown.
func (d *Day) Uses(r view.Row) []Use { return d.leases[lease{r.Group, r.Nodes}] }

// use records how each lease is used.
func (d *Day) use(v view.View) {
	now := map[lease][]Use{}
	for _, r := range v.Rows {
		if r.Group == "" || r.Waits() {
			continue
		}
		key := lease{r.Group, r.Nodes}
		uses, known := d.leases[key]
		if !known {
			uses = d.partOf(key)
		}
		if n := len(uses); n == 0 || uses[n-1].State != r.State || uses[n-1].Jobs != r.JobList() {
			uses = append(slices.Clip(uses), Use{From: beginOf(v, r, n == 0), State: r.State, Jobs: r.JobList()})
		}
		now[key] = uses[max(0, len(uses)-mostUses):]
	}
	d.leases = now
}

// partOf returns the uses of the row that contained these machines until now. Rows split and merge
// when their nodes' states change.
func (d *Day) partOf(key lease) []Use {
	first := firstOf(key.nodes)
	for old, uses := range d.leases {
		names, _ := slurm.Expand(old.nodes)
		if old.group == key.group && slices.Contains(names, first) {
			return uses
		}
	}
	return nil
}

// beginOf returns when a row entered its present state, as far as known. For a row that is seen for
// the first time, that may be before the first observation.
func beginOf(v view.View, r view.Row, first bool) time.Time {
	at := v.SeenAt
	if first && r.State == view.Booting && !r.Since.IsZero() {
		return r.Since
	}
	for _, j := range v.Jobs {
		began := first && r.State == view.Running && slices.Contains(r.Jobs, j.ID) && j.StartAt.After(r.Since)
		if began && j.StartAt.Before(at) {
			at = j.StartAt
		}
	}
	return at
}

func firstOf(hostlist string) string {
	names, _ := slurm.Expand(hostlist)
	return append(names, "")[0]
}

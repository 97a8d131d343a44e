package plan

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"slurmflex/mig"
	"slurmflex/slurm"
)

// Minimum ages of what is collected.
const (
	// youngAge is that of a group or policy: it may be another process's that
	// has not come to its request yet.
	youngAge = 30 * time.Second

	// recordAge is that of a finished request, from when it was made. Compute
	// keeps it for 14 days, and each round reads it.
	recordAge = time.Hour
)

// strandedAfter is the age at which an instance or a request of ours that belongs
// to no node is taken for a remnant.
const strandedAfter = 10 * time.Minute

// deleteInstances deletes the instances of ours that stand behind nodes that
// Slurm has powered down, and, as far as max_deletions_per_round allows, those
// that are of no use to anybody. None goes that a job's node runs on.
func (w *world) deleteInstances() {
	gone := map[string]*departure{} // by region/group; those that no group made under ""
	for _, in := range w.machines {
		if !w.ours(in) {
			continue
		}
		reason, stopped := w.useless(in)
		if in.Leaving() && !stopped {
			w.expect("instance " + in.Name + " to be gone")
			continue
		}
		if reason == "" {
			continue
		}
		key := in.Region + "/" + in.Group
		if in.Group == "" {
			key = ""
		}
		d := gone[key]
		if d == nil {
			d = &departure{}
			gone[key] = d
		}
		d.instances, d.why = append(d.instances, *in.Instance), Why(reason)
	}
	for _, key := range slices.Sorted(maps.Keys(gone)) {
		instances, reason := gone[key].instances, gone[key].why
		if key == "" {
			w.add(DeleteVMs{Instances: instances, Why: reason})
		} else {
			g := w.groups[key]
			w.add(DeleteInstances{Region: g.Region, Group: g.Name, Job: g.Stamp.Job, Instances: instances, Why: reason})
		}
		w.expect("instances " + slurm.Fold(mig.Names(instances)) + " to be gone")
	}
}

// departure is what is deleted by one call.
type departure struct {
	instances []mig.Instance
	why       Why // of the last
}

// useless says why an instance of ours is to be deleted; empty if it is not.
// A stopped one is: by flex-start it can never start again.
func (w *world) useless(in machine) (why string, stopped bool) {
	m := in.member
	stopped = in.Stopped()
	switch {
	case in.Unread != "":
		return "", false
	case m != nil && m.doubted:
		return "", stopped
	case m != nil && m.power == down && len(m.jobs) == 0 && (stopped || m.isPoweredDown(in)):
		return "Slurm has powered its nodes down", stopped
	case m != nil && m.power == down && len(m.jobs) == 0:
		return w.unasked("its node is powered down, and Slurm does not know that it ever was up"), stopped
	case m != nil && stopped && (m.power == rising || m.State.Has(slurm.NotResponding)):
		return w.unasked("it is stopped, and cannot be started again"), stopped
	case m != nil && w.isLeftover(m, in):
		return w.unasked("it came for another job, and cannot serve the one that waits for its node"), stopped
	case m == nil && w.isStranded(in.Name) && w.isOld(in.Created, strandedAfter):
		return w.unasked("the configuration knows no node of that name"), stopped
	}
	return "", stopped
}

// isPoweredDown reports whether Slurm itself has powered this machine's node down:
// it is about to, or it remembers that the machine booted, or that it did not come
// up in time. A slurmctld that has lost its state shows POWERED_DOWN too, and
// remembers none of that. Source: trials on 22.05, 24.11 and 26.05.
func (m *member) isPoweredDown(in machine) bool {
	return m.State.Has(slurm.PoweringDown) || !m.BootTime.IsZero() && !m.BootTime.Before(in.Created) ||
		m.State.Base == slurm.Down && strings.HasSuffix(m.Reason, resumeTimeoutReached)
}

// isStranded reports whether the configuration has no node of that name, and no job
// holds one.
func (w *world) isStranded(node string) bool {
	_, _, known := w.cfg.Find(node)
	return !known && !w.held[node] && !w.anyNode
}

// unasked counts a deletion that Slurm did not ask for, and returns its reason,
// or nothing once the round has made as many as it may.
func (w *world) unasked(why string) string {
	if w.spared == 0 {
		w.problem("more instances are to be deleted than max_deletions_per_round allows: " + why)
		return ""
	}
	w.spared--
	return why
}

// wantedGroups are the groups of the cohorts, by region/name.
func wantedGroups(cohorts []*cohort) map[string]bool {
	wanted := make(map[string]bool, len(cohorts))
	for _, c := range cohorts {
		wanted[c.set.Region+"/"+c.group] = true
	}
	return wanted
}

// deleteGroups deletes our groups that hold nothing and that nobody needs.
func (w *world) deleteGroups(wanted map[string]bool) {
	for _, key := range slices.Sorted(maps.Keys(w.groups)) {
		g := w.groups[key]
		if wanted[key] || len(g.Live()) > 0 || w.inGroup[key] > 0 || !w.done(g) ||
			w.isYoung("group "+g.Name, g.Created) {
			continue
		}
		w.add(DeleteGroup{Region: g.Region, Group: g.Name, Job: g.Stamp.Job, Why: "it is empty and no job waits for it"})
	}
}

// isYoung reports whether something was made too short a time ago to be
// collected. One whose age is not known is not, nor one from the future.
func (w *world) isYoung(what string, created time.Time) bool {
	if created.IsZero() || w.isFuture(created) || w.isOld(created, youngAge) {
		return false
	}
	w.expect(what + " to be old enough to be collected")
	return true
}

// deleteRequests deletes the records of finished requests in groups that stay.
// The newest stays, for the next attempt's name follows it; so do those that
// failed while a job or node waits, for they are counted, and those that say whose
// the machines of the group are.
func (w *world) deleteRequests(wanted map[string]bool) {
	for _, key := range slices.Sorted(maps.Keys(w.groups)) {
		g := w.groups[key]
		if w.inGroup[key] == 0 && len(g.Live()) == 0 {
			continue // the group itself goes, or its records are needed
		}
		for _, r := range g.Requests[:max(len(g.Requests)-1, 0)] {
			counts := r.State == mig.Failed && (wanted[key] || w.isQueued(g.Stamp.Job))
			if !r.State.Live() && !counts && !w.shows(r) && w.isOld(r.Created, recordAge) {
				w.add(DeleteRequest{Region: g.Region, Group: g.Name, Request: r.Name, Job: g.Stamp.Job, Why: "it is finished"})
			}
		}
	}
}

// shows reports whether the request has brought machines that are there, or may be.
func (w *world) shows(r mig.Request) bool {
	return r.State == mig.Succeeded && slices.ContainsFunc(r.Instances, func(n string) bool {
		return len(w.instances[n]) > 0 || w.mayShow[n]
	})
}

// done reports whether nobody needs an empty group's records or its place: the
// job that it was made for has left the queue or owes it no failed attempt, and
// neither a request nor the machine of a node in use could be there unseen, by what
// the lists say and by what the group itself counts.
func (w *world) done(g *mig.Group) bool {
	counts := slices.ContainsFunc(g.Requests, func(r mig.Request) bool { return r.State == mig.Failed })
	return !(counts && w.isQueued(g.Stamp.Job)) && !w.unaccounted(*g) && !w.isAhead(g) && !w.mayHold(g)
}

// unaccounted reports whether the group has brought a machine for a node that
// is in use, and what the node has now does not show elsewhere, or a machine that
// could not be read.
func (w *world) unaccounted(g mig.Group) bool {
	for _, r := range g.Requests {
		if r.State != mig.Succeeded {
			continue
		}
		for _, name := range r.Instances {
			if w.unread[name] != "" {
				return true
			}
			if m := w.nodes[name]; m != nil && m.power != down && !w.isElsewhere(name, g) {
				return true
			}
		}
	}
	return false
}

// isElsewhere reports whether a live request asks for the node, or its machine is of
// another group of ours, and both say so: the machine, and the record of a request.
func (w *world) isElsewhere(node string, g mig.Group) bool {
	return len(w.requests[node]) > 0 || slices.ContainsFunc(w.instances[node], func(in machine) bool {
		if in.group == nil {
			return w.ours(in)
		}
		return in.group.Name != g.Name && slices.ContainsFunc(in.group.Requests, func(r mig.Request) bool { return r.Names(node) })
	})
}

// nameUnseen reports the regions that could not be read.
func (w *world) nameUnseen() {
	for _, region := range slices.Sorted(maps.Keys(w.snap.Unseen)) {
		w.problem(fmt.Sprintf("region %s could not be read, and nothing is done in it: %v", region, w.snap.Unseen[region]))
	}
}

// nameUnclear reports what is left alone because it is not understood.
func (w *world) nameUnclear() {
	for _, m := range w.members {
		if m.power == unclear && !w.isSkipped(slurm.NodeRow, m.Name) {
			w.problem(fmt.Sprintf("node %s is left alone: state %s is not understood", m.Name, m.State))
		}
	}
}

package past

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"slurmflex/flex/plan/memo"
	"slurmflex/flex/plan/scene"
	"slurmflex/flex/view"
	"slurmflex/slurm"
)

// Job is the story of a job that is in Slurm's queue or has left it.
type Job struct {
	view.Job           // as last seen
	EndedAt  time.Time // when it was first missing in the queue; zero while it is there
	events   []view.Event

	allocated time.Time // when Slurm allocated its present nodes; zero if none or unknown
	placed    bool      // the job has nodes
	machines  int       // number of its machines that were created for it
}

// Events returns the job's events, oldest first.
func (j Job) Events() []view.Event {
	return slices.SortedStableFunc(slices.Values(j.events), func(a, b view.Event) int { return a.At.Compare(b.At) })
}

// follow updates the stories of jobs.
func (d *Day) follow(v view.View) {
	rows := make(map[uint32][]*view.Row, len(v.Jobs))
	for i := range v.Rows {
		for _, id := range v.Rows[i].Jobs {
			rows[id] = append(rows[id], &v.Rows[i])
		}
	}
	groups := make(map[string]*view.Group, len(v.Groups))
	for i := range v.Groups {
		groups[v.Groups[i].Name] = &v.Groups[i]
	}
	types := make(map[string]string, len(v.NodeSets))
	for _, set := range v.NodeSets {
		types[set.Name] = set.Machine
	}
	ended := d.Ended() // if there are too many jobs, the one that ended first is dropped
	queued := map[uint32]bool{}
	for _, j := range v.Jobs {
		queued[j.ID] = true
		story, known := d.jobs[j.ID]
		if !known || !story.EndedAt.IsZero() {
			if !v.OnFlexNodes(j) {
				continue
			}
			if !known && len(d.jobs) >= mostJobs {
				if len(ended) == 0 {
					continue
				}
				delete(d.jobs, ended[len(ended)-1].ID)
				ended = ended[:len(ended)-1]
			}
			story = Job{}
		}
		story.Job = j
		story.see(v.SeenAt, rows[j.ID], groups, types)
		d.jobs[j.ID] = story
	}
	d.miss(v, queued)
}

// miss ends the stories of jobs that are missing in the queue, and drops those that ended a day
// ago. An unreadable row may belong to any job.
func (d *Day) miss(v view.View, queued map[uint32]bool) {
	unread := func(id uint32) bool {
		return slices.ContainsFunc(v.Skipped, func(s view.Skipped) bool {
			return s.Kind == slurm.JobRow && (s.Name == "" || s.Name == fmt.Sprint(id))
		})
	}
	for id, j := range d.jobs {
		switch {
		case queued[id] || j.EndedAt.IsZero() && unread(id):
		case j.EndedAt.IsZero():
			j.EndedAt = v.SeenAt
			j.note(v.SeenAt, view.EventEnded, "")
			d.jobs[id] = j
		case v.SeenAt.Sub(j.EndedAt) > Length:
			delete(d.jobs, id)
		}
	}
}

// see records news about a job in the queue. rows are the rows of its nodes, and types the machine
// types of nodesets.
func (j *Job) see(at time.Time, rows []*view.Row, groups map[string]*view.Group, types map[string]string) {
	state := slurm.JobState(j.State)
	switch {
	case state.Waits() && j.placed:
		j.note(at, view.EventRequeued, j.Reason)
		j.allocated, j.placed, j.machines = time.Time{}, false, 0
		return
	case state.Waits():
		if len(j.events) == 0 {
			j.note(at, view.EventSubmitted, "")
		}
	case !j.placed && !state.AtWork():
		j.allocated = j.StartAt
		if j.allocated.IsZero() {
			j.allocated = at
		}
		j.note(j.allocated, view.EventAllocated, j.Nodes)
	}
	j.placed = !state.Waits()
	for _, r := range rows {
		j.seeRequests(at, r, groups[r.Group])
		switch r.State {
		case view.Lost:
			j.once(at, view.EventLost, r.Obstacle)
		case view.Returned:
			j.once(at, view.EventReturned, r.Obstacle)
		}
	}
	j.seeMachines(at, rows, groups)
	// A job that ends leaves its nodes one by one.
	leaves := state == slurm.JobCompleting && j.hasRun()
	if state.AtWork() && !j.StartAt.IsZero() && !leaves && j.once(j.StartAt, view.EventRunning, "on "+j.Nodes) {
		j.events[len(j.events)-1].Machines = machinesOf(j.Nodes, rows, types)
	}
	if sent, signal, ok := memo.WasSent(j.Told); ok {
		j.once(sent, view.EventSignalled, signal+", because its nodes end before its time limit")
	}
}

// seeRequests records the requests for a row, and their failures.
func (j *Job) seeRequests(at time.Time, r *view.Row, g *view.Group) {
	if g == nil {
		g = &view.Group{}
	}
	for _, request := range g.Requests {
		if g.Job == j.ID || request.Name == r.Request {
			j.once(request.CreatedAt, view.EventRequested, fmt.Sprintf("%s for %s in %s (%s/%s)",
				view.Count(request.Count, "node"), request.Lease.Limit(), g.Region, g.Name, request.Name))
		}
	}
	switch {
	case r.Waits() && !r.FailingSince.IsZero():
		j.once(r.FailingSince, view.EventFailed, scene.FailingText(r.Cause, r.Brief))
	case r.Waits() && r.Failed > 0:
		j.once(at, view.EventFailed, fmt.Sprintf("attempt %d: %s", r.Failed, cmp.Or(r.Brief, r.Cause, "unknown")))
	}
}

// seeMachines records machines that were created for the job, and the time when all of them are up.
func (j *Job) seeMachines(at time.Time, rows []*view.Row, groups map[string]*view.Group) {
	made := 0
	var up []string
	var last time.Time
	for _, r := range rows {
		if r.Waits() || r.State == view.Lost || r.State == view.Cancelling {
			continue
		}
		if madeFor(groups[r.Group], j.ID) || !j.allocated.IsZero() && !r.Since.Before(j.allocated) {
			made += r.Count
			if r.Since.After(last) {
				last = r.Since
			}
		}
		if r.State == view.Starting || r.State == view.Running {
			names, _ := slurm.Expand(r.Nodes)
			up = append(up, names...)
		}
	}
	comes := len(up) > 0 && !slurm.JobState(j.State).AtWork()
	if made <= j.machines && !comes {
		return
	}
	wanted := j.NodeCount
	if names, _ := slurm.Expand(j.Nodes); len(names) > 0 {
		wanted = len(names)
	}
	if made > j.machines {
		j.note(last, view.EventGranted, fmt.Sprintf("%d of %s", made, view.Count(max(wanted, made), "node")))
		j.machines = made
	}
	if comes && len(up) >= wanted {
		j.once(at, view.EventBooted, slurm.Fold(up))
	}
}

// hasRun reports whether a run since the job's last requeue is recorded.
func (j *Job) hasRun() bool {
	for _, e := range slices.Backward(j.events) {
		if e.Kind == view.EventRunning || e.Kind == view.EventRequeued {
			return e.Kind == view.EventRunning
		}
	}
	return false
}

// machinesOf counts the machines of a job's nodes by type. Nodes outside flex nodesets have an
// unknown type.
func machinesOf(nodes string, rows []*view.Row, types map[string]string) []view.Machines {
	names, _ := slurm.Expand(nodes)
	of := make([]string, len(names))
	for _, r := range rows {
		own, _ := slurm.Expand(r.Nodes)
		for _, name := range own {
			if i := slices.Index(names, name); i >= 0 {
				of[i] = types[r.NodeSet]
			}
		}
	}
	return view.CountMachines(of)
}

func madeFor(g *view.Group, job uint32) bool { return g != nil && g.Job == job }

// once records an event unless the same event is already recorded, with that time or since the
// job's last requeue. It reports whether it has recorded the event.
func (j *Job) once(at time.Time, kind, text string) bool {
	earlier := false
	for _, e := range slices.Backward(j.events) {
		if e.Kind == kind && e.Text == text && (!earlier || e.At.Equal(at)) {
			return false
		}
		earlier = earlier || e.Kind == view.EventRequeued
	}
	j.note(at, kind, text)
	return true
}

// note records an event. If there are too many, it keeps the first event and drops those after it.
func (j *Job) note(at time.Time, kind, text string) {
	j.events = append(slices.Clip(j.events), view.Event{At: at, Kind: kind, Text: text})
	if len(j.events) > mostEvents {
		j.events = slices.Delete(slices.Clone(j.events), 1, 2)
	}
}

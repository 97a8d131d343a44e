package past

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"slurmflex/flex/plan/demand"
	"slurmflex/flex/plan/memo"
	"slurmflex/flex/plan/scene"
	"slurmflex/flex/view"
	"slurmflex/mig"
	"slurmflex/slurm"
)

// Job is the story of a job that is in Slurm's queue or has left it.
type Job struct {
	view.Job           // as last seen
	EndedAt  time.Time // when it was first missing in the queue; zero while it is there
	events   []view.Event
}

// story is a Job that passes add to. While the job's row is readable, Day.scene has the job.
type story struct {
	Job
	allocated time.Time // when Slurm allocated its present nodes; zero if none or unknown
	placed    bool      // the job has nodes
	machines  int       // number of its machines that were created for it

	// The start of its last recorded run, and on how many nodes; zero after a requeue.
	ran   time.Time
	ranOn int
}

// Events returns the job's events, oldest first.
func (j Job) Events() []view.Event {
	return slices.SortedStableFunc(slices.Values(j.events), func(a, b view.Event) int { return a.At.Compare(b.At) })
}

// follow updates the stories of jobs.
func (d *Day) follow(l *look) {
	var ended []Job // if there are too many jobs, the one that ended first is dropped
	if len(d.jobs)+len(l.scene.Seen.Jobs) > mostJobs {
		ended = d.Ended()
	}
	for i := range l.scene.Seen.Jobs {
		j := &l.scene.Seen.Jobs[i]
		of, known := d.jobs[j.ID]
		if !known || !of.EndedAt.IsZero() {
			if !l.isOnFlex(j) {
				continue
			}
			if !known && len(d.jobs) >= mostJobs {
				if len(ended) == 0 {
					continue
				}
				delete(d.jobs, ended[len(ended)-1].ID)
				ended = ended[:len(ended)-1]
			}
			of = &story{}
			d.jobs[j.ID] = of
		}
		of.see(l, j)
	}
	d.miss(l)
}

// miss ends the stories of jobs that are missing in the queue, and drops those that ended a day
// ago. An unreadable row may belong to any job.
func (d *Day) miss(l *look) {
	for id, of := range d.jobs {
		if l.scene.Job(id) != nil {
			continue
		}
		if d.scene != nil && d.scene.Job(id) != nil {
			of.Job.Job = view.JobOf(d.scene, d.scene.Job(id))
		}
		switch {
		case of.EndedAt.IsZero() && !l.scene.IsQueued(id):
			of.EndedAt = l.at
			of.note(l.at, view.EventEnded, "")
		case !of.EndedAt.IsZero() && l.at.Sub(of.EndedAt) > Length:
			delete(d.jobs, id)
		}
	}
}

// see records news about a job in the queue.
func (s *story) see(l *look, j *slurm.Job) {
	switch {
	case j.State.Waits() && s.placed:
		s.note(l.at, view.EventRequeued, j.Reason)
		*s = story{Job: s.Job}
		return
	case j.State.Waits():
		if len(s.events) == 0 {
			s.note(l.at, view.EventSubmitted, "")
		}
	case !s.placed && !j.State.AtWork():
		s.allocated = second(j.Start)
		if j.Start.IsZero() {
			s.allocated = l.at
		}
		s.note(s.allocated, view.EventAllocated, slurm.Fold(j.Nodes))
	}
	s.placed = !j.State.Waits()
	of := l.jobs[j.ID]
	if of != nil {
		s.seeWaits(l, j, of)
	}
	if !s.isRecorded(j) {
		s.seeMachines(l, j, of)
		s.seeRun(l, j)
	}
	if sent, signal, ok := memo.WasSent(l.scene.Seen.Told[j.ID]); ok {
		s.once(sent, view.EventSignalled, signal+", because its nodes end before its time limit")
	}
}

// isRecorded reports whether the job's present run is in the story, with its machines.
func (s *story) isRecorded(j *slurm.Job) bool {
	return j.State.AtWork() && !s.ran.IsZero() && s.ran.Equal(j.Start) && s.ranOn == len(j.Nodes)
}

// seeRun records the start of a run.
func (s *story) seeRun(l *look, j *slurm.Job) {
	// A job that ends leaves its nodes one by one.
	leaves := j.State == slurm.JobCompleting && !s.ran.IsZero()
	if !j.State.AtWork() || j.Start.IsZero() || leaves {
		return
	}
	s.ran, s.ranOn = j.Start, len(j.Nodes)
	if s.once(j.Start, view.EventRunning, "on "+slurm.Fold(j.Nodes)) {
		s.events[len(s.events)-1].Machines = view.CountMachines(l.types(j.Nodes))
	}
}

// seeWaits records the requests for a job's nodes and their failures, and lost or returned nodes.
func (s *story) seeWaits(l *look, j *slurm.Job, of *jobLook) {
	for _, w := range of.waits {
		s.seeRequests(j, l.scene.Owned(mig.GroupID{Region: w.Region, Name: w.Group}), w.Request)
		switch {
		case !w.Failing.Since.IsZero():
			s.once(w.Failing.Since, view.EventFailed, scene.FailingText(causeOf(w.Cause), w.Brief()))
		case w.Failed > 0:
			s.once(l.at, view.EventFailed, fmt.Sprintf("attempt %d: %s", w.Failed, cmp.Or(w.Brief(), causeOf(w.Cause), "unknown")))
		}
		if w.Stage == demand.Returned {
			s.once(l.at, view.EventReturned, w.Obstacle)
		}
	}
	for _, r := range of.asked {
		s.seeRequests(j, r.Group, r.Request.Name)
	}
	for _, loss := range of.losses {
		s.once(l.at, view.EventLost, loss.String())
	}
}

// seeRequests records the requests of a group that is the job's own, or otherwise the named request.
func (s *story) seeRequests(j *slurm.Job, g *mig.Group, named string) {
	if g == nil {
		return
	}
	for _, r := range g.Requests {
		if g.Stamp.Job == j.ID || r.Name == named {
			s.once(r.Created, view.EventRequested, fmt.Sprintf("%s for %s in %s (%s/%s)",
				view.Count(len(r.Instances), "node"), view.Seconds(r.Duration).Limit(), g.Region, g.Name, r.Name))
		}
	}
}

// seeMachines records machines that were created for the job, and the time when all of them are up.
func (s *story) seeMachines(l *look, j *slurm.Job, of *jobLook) {
	var nodes []string
	if j.State.HoldsNodes() {
		nodes = j.Nodes
	}
	from := s.allocated
	if of != nil {
		nodes = slices.Concat(nodes, of.awaited)
		if from.IsZero() {
			from = of.since
		}
	}
	made := 0
	var up []string
	var last time.Time
	var group *mig.Group
	for _, name := range nodes {
		for _, in := range l.scene.MachinesOf(name) {
			if !l.isThere(in) {
				continue
			}
			if in.Owned != group { // a job's machines mostly belong to one group
				group = in.Owned
				s.seeRequests(j, group, "")
			}
			since := second(in.Created)
			if group != nil && group.Stamp.Job == j.ID || !from.IsZero() && !since.Before(from) {
				made++
				last = scene.Later(last, since)
			}
			if state := view.StateOf(in); state == view.Starting || state == view.Running {
				up = append(up, name)
			}
		}
	}
	comes := len(up) > 0 && !j.State.AtWork()
	wanted := cmp.Or(len(j.Nodes), j.NodeCount)
	if made > s.machines {
		s.note(last, view.EventGranted, fmt.Sprintf("%d of %s", made, view.Count(max(wanted, made), "node")))
		s.machines = made
	}
	if comes && len(up) >= wanted {
		s.once(l.at, view.EventBooted, slurm.Fold(up))
	}
}

// causeOf returns the word for a cause; empty for no cause.
func causeOf(c mig.Cause) string {
	if c == mig.CauseNone {
		return ""
	}
	return c.String()
}

// once records an event unless the same event is already recorded, with that time or since the
// job's last requeue. It reports whether it has recorded the event.
func (j *Job) once(at time.Time, kind, text string) bool {
	at = second(at)
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

// note records an event. If there are too many, it drops an older one.
func (j *Job) note(at time.Time, kind, text string) {
	j.events = append(slices.Clip(j.events), view.Event{At: second(at), Kind: kind, Text: text})
	if len(j.events) > mostEvents {
		i := surplus(j.events)
		j.events = slices.Delete(slices.Clone(j.events), i, i+1)
	}
}

// surplus returns the event to drop: of the older half, the oldest that is neither the first event nor
// the start or end of a run; otherwise the second event.
func surplus(events []view.Event) int {
	runs := false
	for i, e := range events[:len(events)/2] {
		switch {
		case e.Kind == view.EventRunning:
			runs = true
		case e.Kind == view.EventRequeued && runs:
			runs = false
		case i > 0:
			return i
		}
	}
	return 1
}

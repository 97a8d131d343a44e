package history

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

// see records news about a job in the queue.
func (s *openStory) see(l *queueLook, j *slurm.Job) {
	switch {
	case j.State.Waits() && s.Placed:
		s.note(l.at, view.EventRequeued, j.Reason)
		*s = openStory{Past: s.Past}
		return
	case j.State.Waits():
		if len(s.Events) == 0 {
			s.note(l.at, view.EventSubmitted, "")
		}
	case !s.Placed && !j.State.AtWork():
		s.Allocated = second(j.Start)
		if j.Start.IsZero() {
			s.Allocated = l.at
		}
		s.note(s.Allocated, view.EventAllocated, slurm.Fold(j.Nodes))
	}
	s.Placed = !j.State.Waits()
	s.seeWaits(l, j)
	if !s.isRecorded(j) {
		s.seeMachines(l, j)
		s.seeRun(l, j)
	}
	if sent, signal, ok := memo.WasSent(l.scene.Seen.Told[j.ID]); ok {
		s.once(sent, view.EventSignalled, signal+", because its nodes end before its time limit")
	}
}

// isRecorded reports whether the job's present run is in the story, with its machines.
func (s *openStory) isRecorded(j *slurm.Job) bool {
	return j.State.AtWork() && !s.Ran.IsZero() && s.Ran.Equal(j.Start) && s.RanOn == len(j.Nodes)
}

// seeRun records the start of a run.
func (s *openStory) seeRun(l *queueLook, j *slurm.Job) {
	// A job that ends leaves its nodes one by one.
	leaves := j.State == slurm.JobCompleting && !s.Ran.IsZero()
	if !j.State.AtWork() || j.Start.IsZero() || leaves {
		return
	}
	s.Ran, s.RanOn = j.Start, len(j.Nodes)
	if s.once(j.Start, view.EventRunning, "on "+slurm.Fold(j.Nodes)) {
		s.Events[len(s.Events)-1].Machines = countMachines(l.types(j.Nodes))
	}
}

// countMachines counts machines by type, given the type of each.
func countMachines(types []string) (all []view.Machines) {
	for _, of := range slices.Sorted(slices.Values(types)) {
		if n := len(all); n > 0 && all[n-1].Type == of {
			all[n-1].Count++
		} else {
			all = append(all, view.Machines{Type: of, Count: 1})
		}
	}
	return all
}

// seeWaits records the requests for a job's nodes and their failures, and lost or returned nodes.
func (s *openStory) seeWaits(l *queueLook, j *slurm.Job) {
	of := l.job(j.ID)
	for _, w := range of.waits {
		s.seeRequests(j, l.scene.Group(mig.GroupID{Region: w.Region, Name: w.Group}).Owned, w.Request)
		switch {
		case !w.Failing.Since.IsZero():
			s.once(w.Failing.Since, view.EventFailed, scene.FailingText(w.Cause, w.Brief()))
		case w.Failed > 0:
			s.once(l.at, view.EventFailed, fmt.Sprintf("attempt %d: %s", w.Failed, cmp.Or(w.Brief(), string(w.Cause), "unknown")))
		}
		if w.Stage == demand.Returning {
			s.once(l.at, view.EventReturned, w.Obstacle)
		}
	}
	for _, loss := range of.losses {
		s.once(l.at, view.EventLost, loss.String())
	}
}

// seeRequests records the requests of a group that is the job's own, or otherwise the named request.
func (s *openStory) seeRequests(j *slurm.Job, g *mig.Group, named string) {
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
func (s *openStory) seeMachines(l *queueLook, j *slurm.Job) {
	var nodes []string
	if j.State.HoldsNodes() {
		nodes = slices.Clip(j.Nodes)
	}
	from, wanted := s.Allocated, cmp.Or(len(j.Nodes), j.NodeCount)
	for _, d := range l.scene.DoorsOf(j.ID) {
		wanted = len(d.Nodes) // squeue shows the most of a range
		if s.Allocated.IsZero() && (from.IsZero() || d.At.Before(from)) {
			from = d.At
		}
		for _, name := range d.Nodes {
			if n := l.scene.Node(name); n != nil && n.Door == d {
				nodes = append(nodes, name)
			}
		}
	}
	made := 0
	var up []string
	var last time.Time
	var group *mig.Group
	for _, name := range nodes {
		for _, in := range l.scene.Named(name).Machines {
			if l.lost[name] || !in.Belongs {
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
	if made > s.Machines {
		s.note(last, view.EventGranted, fmt.Sprintf("%d of %s", made, view.Count(max(wanted, made), "node")))
		s.Machines = made
	}
	if comes && len(up) >= wanted {
		s.once(l.at, view.EventBooted, slurm.Fold(up))
	}
}

// once records an event unless the same event is already recorded, with that time or since the
// job's last requeue. It reports whether it has recorded the event.
func (s *openStory) once(at time.Time, kind, text string) bool {
	at = second(at)
	earlier := false
	for _, e := range slices.Backward(s.Events) {
		if e.Kind == kind && e.Text == text && (!earlier || e.At.Equal(at)) {
			return false
		}
		earlier = earlier || e.Kind == view.EventRequeued
	}
	s.note(at, kind, text)
	return true
}

// note records an event. If there are too many, it drops an older one.
func (s *openStory) note(at time.Time, kind, text string) {
	s.Events = append(slices.Clip(s.Events), view.Event{At: second(at), Kind: kind, Text: text})
	if len(s.Events) > mostEvents {
		i := surplus(s.Events)
		s.Events = slices.Delete(slices.Clone(s.Events), i, i+1)
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

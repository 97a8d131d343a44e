package past

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"slurmflex/flex/plan"
	"slurmflex/flex/plan/scene"
	"slurmflex/flex/view"
)

// Stories follows the jobs of passes. It is empty before the first pass.
type Stories struct {
	scene *scene.Scene      // of the last pass, with the jobs that are in the queue
	jobs  map[uint32]*Story // of the jobs that have not ended, by raw id
}

// Story is the story of a job in Slurm's queue, and what later events follow from.
type Story struct {
	view.Past

	Allocated time.Time `json:"allocated,omitzero"` // when Slurm allocated its present nodes; zero if none or unknown
	Placed    bool      `json:"placed,omitempty"`   // the job has nodes
	Machines  int       `json:"machines,omitempty"` // number of its machines that were created for it

	// The start of its last recorded run, and on how many nodes; zero after a requeue.
	Ran   time.Time `json:"ran,omitzero"`
	RanOn int       `json:"ran_on,omitempty"`
}

// Open returns the stories of the jobs in the queue, by raw id.
func (d *Stories) Open() []*Story {
	return slices.SortedFunc(maps.Values(d.jobs), func(a, b *Story) int { return cmp.Compare(a.Job.ID, b.Job.ID) })
}

// Resume continues with the stories that an earlier process followed.
func (d *Stories) Resume(open []*Story) {
	d.jobs = map[uint32]*Story{}
	for _, s := range open {
		if s != nil && len(s.Events) > 0 {
			d.jobs[s.Job.ID] = s
		}
	}
}

// See adds the observations of a pass. It returns the stories of the jobs that have left the queue,
// unless others made the passes before this one: they have these stories.
func (d *Stories) See(s *scene.Scene, p plan.Plan, others bool) (ended []view.Past) {
	l := newLook(s, p)
	for i := range l.scene.Seen.Jobs {
		j := &l.scene.Seen.Jobs[i]
		of := d.jobs[j.ID]
		if of == nil {
			if !l.isOnFlex(j) || len(d.jobs) >= mostJobs {
				continue
			}
			of = &Story{Past: view.Past{Job: view.JobOf(l.scene, j)}}
			if d.jobs == nil {
				d.jobs = map[uint32]*Story{}
			}
			d.jobs[j.ID] = of
		}
		known := len(of.Events)
		if of.see(l, j); len(of.Events) != known {
			of.Job = view.JobOf(l.scene, j)
		}
	}
	for id, of := range d.jobs {
		if d.scene != nil && d.scene.Job(id) != nil && l.scene.Job(id) == nil {
			of.Job = view.JobOf(d.scene, d.scene.Job(id))
		}
		if l.scene.IsQueued(id) { // an unreadable row may belong to any job
			continue
		}
		of.EndedAt = l.at
		of.note(l.at, view.EventEnded, "")
		delete(d.jobs, id)
		if !others {
			ended = append(ended, of.told())
		}
	}
	slices.SortFunc(ended, func(a, b view.Past) int { return cmp.Compare(a.Job.ID, b.Job.ID) })
	d.scene = l.scene
	return ended
}

// Of returns the story of the job in the queue that squeue shows by that name, or that has it as its
// raw id; nil if there is none.
func (d *Stories) Of(name string) *view.Past {
	for id, of := range d.jobs {
		told := of.told()
		if d.scene != nil && d.scene.Job(id) != nil {
			told.Job = view.JobOf(d.scene, d.scene.Job(id))
		}
		if told.Job.Is(name) && len(told.Events) > 0 {
			return &told
		}
	}
	return nil
}

// told returns the story as it is now, with its events in the order of their times.
func (s *Story) told() view.Past {
	past := s.Past
	past.Events = slices.SortedStableFunc(slices.Values(s.Events), func(a, b view.Event) int { return a.At.Compare(b.At) })
	return past
}

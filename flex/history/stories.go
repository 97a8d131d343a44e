package history

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"slurmflex/flex/plan"
	"slurmflex/flex/plan/scene"
	"slurmflex/flex/view"
	"slurmflex/slurm"
)

// The limits of stories.
const (
	mostJobs   = 2000 // others have a story once they get nodes
	mostEvents = 60   // per job
)

// openStories follows the jobs of passes. It is empty before the first pass.
type openStories struct {
	Jobs  []*openStory `json:"jobs"` // of the jobs that have not ended
	scene *scene.Scene // of the last pass, with the jobs that are in the queue
}

// openStory is the story of a job in Slurm's queue, and what later events follow from.
type openStory struct {
	view.Past

	Allocated time.Time `json:"allocated,omitzero"` // when Slurm allocated its present nodes; zero if none or unknown
	Placed    bool      `json:"placed,omitempty"`   // the job has nodes
	Machines  int       `json:"machines,omitempty"` // number of its machines that were created for it

	// The start of its last recorded run, and on how many nodes; zero after a requeue.
	Ran   time.Time `json:"ran,omitzero"`
	RanOn int       `json:"ran_on,omitempty"`
}

// see adds the observations of a pass. It returns the stories of the jobs that have left the queue,
// unless others made the passes before this one: they have these stories.
func (d *openStories) see(s *scene.Scene, p plan.Plan, others bool) (ended []view.Past) {
	l := newQueueLook(s, p)
	open := make(map[uint32]*openStory, len(d.Jobs))
	for _, of := range d.Jobs {
		open[of.Job.ID] = of
	}
	for i := range l.scene.Seen.Jobs {
		j := &l.scene.Seen.Jobs[i]
		of := open[j.ID]
		if of == nil {
			if isIdle := !j.State.HoldsNodes() && len(l.scene.DoorsOf(j.ID)) == 0; !s.Config.HasOurs(j.Partition) || isIdle && len(d.Jobs) >= mostJobs {
				continue
			}
			of = &openStory{Past: view.Past{Job: view.JobOf(l.scene, j)}}
			d.Jobs = append(d.Jobs, of)
		}
		known := len(of.Events)
		if of.see(l, j); len(of.Events) != known {
			of.Job = view.JobOf(l.scene, j)
		}
	}
	d.Jobs = slices.DeleteFunc(d.Jobs, func(of *openStory) bool {
		if l.scene.Jobs[of.Job.ID] == nil {
			of.Job = d.seen(of)
		}
		if l.scene.IsQueued(of.Job.ID) { // an unreadable row may belong to any job
			return false
		}
		of.EndedAt = l.at
		of.note(l.at, view.EventEnded, "")
		if !others {
			ended = append(ended, of.told())
		}
		return true
	})
	slices.SortFunc(ended, func(a, b view.Past) int { return cmp.Compare(a.Job.ID, b.Job.ID) })
	d.scene = l.scene
	return ended
}

// of returns the story of the job in the queue that squeue shows by that name, or that has it as its
// raw id; nil if there is none.
func (d *openStories) of(name string) *view.Past {
	for _, of := range d.Jobs {
		told := of.told()
		told.Job = d.seen(of)
		if told.Job.Is(name) && len(told.Events) > 0 {
			return &told
		}
	}
	return nil
}

// seen returns the story's job as the last pass saw it, or as it was last recorded.
func (d *openStories) seen(of *openStory) view.Job {
	if d.scene == nil || d.scene.Jobs[of.Job.ID] == nil {
		return of.Job
	}
	return view.JobOf(d.scene, d.scene.Jobs[of.Job.ID])
}

// told returns the story as it is now, with its events in the order of their times.
func (s *openStory) told() view.Past {
	past := s.Past
	past.Events = slices.SortedStableFunc(slices.Values(s.Events), func(a, b view.Event) int { return a.At.Compare(b.At) })
	return past
}

// StoryLine is the line of a job that has left Slurm's queue.
type StoryLine struct {
	Version int    `json:"v"`
	Kind    Kind   `json:"kind"`
	ID      string `json:"id"` // the first line with an ID counts
	view.Past
}

func lineOf(story view.Past) StoryLine {
	return StoryLine{Version, Job, fmt.Sprintf("job-%d@%d", story.Job.ID, story.Events[0].At.Unix()), story}
}

// Story returns the story of the job that squeue shows by that name, or that has it as its raw id:
// that of the job in the queue, or else of the last one that has ended. It returns nil if the history
// has none.
func Story(dir, cluster, name string) (last *view.Past, err error) {
	err = readStories(dir, cluster, slurm.WholeOf(name), func(story *view.Past) {
		if story.Job.Is(name) {
			last = story
		}
	})
	m, bad := load(dir, cluster)
	if open := m.of(name); bad == nil && open != nil {
		last = open
	}
	return last, err
}

// readStories calls take for each recorded story with that text in its line, the oldest first.
func readStories(dir, cluster, text string, take func(*view.Past)) error {
	r := reader{kind: Job, seen: map[string]bool{}}
	r.line = func(line []byte) error {
		if !bytes.Contains(line, []byte(text)) {
			return nil
		}
		var of StoryLine
		if err := json.Unmarshal(line, &of); err != nil {
			return err
		}
		if of.Kind == Job && r.isNew(of.ID) {
			take(&of.Past)
		}
		return nil
	}
	return r.files(linesPath(dir, cluster))
}

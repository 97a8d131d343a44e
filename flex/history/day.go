package history

import (
	"slices"
	"time"

	"slurmflex/flex/view"
)

// Length is how much of the past a recorder remembers.
const Length = 24 * time.Hour

// mostEnded is how many stories of ended jobs a recorder remembers.
const mostEnded = 2000

// day is what has ended in the last day, the oldest first.
type day struct {
	entries []Entry
	stories []view.Past
}

// trim forgets what has ended earlier, and stories that are too many.
func (d *day) trim(now time.Time) {
	since := At(now.Add(-Length))
	d.entries = slices.DeleteFunc(d.entries, func(e Entry) bool { return e.To < since })
	d.stories = slices.DeleteFunc(d.stories, func(story view.Past) bool { return At(story.EndedAt) < since })
	d.stories = d.stories[max(0, len(d.stories)-mostEnded):]
}

// recall reads the last day from the history once.
func (r *Recorder) recall(now time.Time) {
	if !r.Remembers || r.recalled {
		return
	}
	r.recalled = true
	var last day
	for _, kind := range []Kind{Wait, Lease} {
		_, err := Read(r.Dir, r.Cluster, kind, func(e *Entry) {
			if !e.Ongoing {
				last.entries = append(last.entries, *e)
			}
		})
		r.report(err)
	}
	r.report(readStories(r.Dir, r.Cluster, "", func(story *view.Past) { last.stories = append(last.stories, *story) }))
	last.trim(now)
	r.looking.Lock()
	defer r.looking.Unlock()
	r.day = last
}

// Day returns the waits and leases that have ended in the last day, and those that have not ended, up to
// a second after the last look, so that they have what the look saw first.
func (r *Recorder) Day() []Entry {
	r.looking.Lock()
	defer r.looking.Unlock()
	if r.memory == nil {
		return nil
	}
	return append(slices.Clip(r.day.entries), r.memory.ongoing(1)...)
}

// Ended returns the stories of the jobs that ended in the last day, the last one first.
func (r *Recorder) Ended() []view.Past {
	r.looking.Lock()
	defer r.looking.Unlock()
	ended := slices.Clone(r.day.stories)
	slices.Reverse(ended)
	return ended
}

// Story returns the story of the job in the queue, or else of the last day, that squeue shows by that
// name, or that has it as its raw id; nil if there is none.
func (r *Recorder) Story(name string) *view.Past {
	r.looking.Lock()
	defer r.looking.Unlock()
	if r.memory != nil {
		if open := r.memory.of(name); open != nil {
			return open
		}
	}
	for _, story := range slices.Backward(r.day.stories) {
		if story.Job.Is(name) {
			return &story
		}
	}
	return nil
}

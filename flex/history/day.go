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

// Remember makes the recorder remember the last day, also what is in the history when it starts.
func (r *Recorder) Remember() { r.remembers = true }

// recall reads the last day from the history once.
func (r *Recorder) recall(now time.Time) {
	if !r.remembers || r.recalled {
		return
	}
	r.recalled = true
	var last day
	for _, kind := range []Kind{Wait, Lease} {
		_, err := Read(r.dir, r.cluster, kind, func(e *Entry) {
			if !e.Ongoing {
				last.entries = append(last.entries, *e)
			}
		})
		r.report(err)
	}
	r.report(readStories(r.dir, r.cluster, "", func(story *view.Past) { last.stories = append(last.stories, *story) }))
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

// Phase is a part of a wait or of a lease.
type Phase struct {
	From, To Time
	Is       view.State // Waiting, Booting, Idle or Running
}

// Phases returns the phases of a wait or of a lease, oldest first.
func (e *Entry) Phases() (all []Phase) {
	if e.Kind == Wait {
		return []Phase{{e.From, e.To, view.Waiting}}
	}
	at := e.From
	add := func(until Time, is view.State) {
		if until > at {
			all, at = append(all, Phase{at, until, is}), until
		}
	}
	add(e.From+Time(e.Booting), view.Booting)
	for _, u := range e.Uses {
		add(u.From, view.Idle)
		add(u.To, view.Running)
	}
	add(e.To, view.Idle)
	return all
}

// Sample is the number of waiting and running nodes at a time.
type Sample struct {
	At    time.Time
	Nodes map[view.State]int // by the states of phases, without zeros
	Sum   int                // of all states
}

// Samples counts the nodes of waits and leases at each minute of the last day until now, from the first of
// them on. What is ongoing goes on until now.
func Samples(entries []Entry, now time.Time) []Sample {
	const minute = Time(time.Minute / time.Second)
	last := At(now)
	first := last
	for i := range entries {
		first = min(first, entries[i].From)
	}
	first = max(first, last-Time(Length/time.Second))
	first += (last - first) % minute
	if len(entries) == 0 {
		return nil
	}
	samples := make([]Sample, (last-first)/minute+1)
	for i := range samples {
		samples[i] = Sample{At: (first + Time(i)*minute).Time(), Nodes: map[view.State]int{}}
	}
	for i := range entries {
		e := &entries[i]
		phases := e.Phases()
		for p, phase := range phases {
			if e.Ongoing && p == len(phases)-1 {
				phase.To = last + 1
			}
			for at := max(0, (phase.From-first+minute-1)/minute); at < Time(len(samples)) && first+at*minute < phase.To; at++ {
				samples[at].Nodes[phase.Is] += e.Count
				samples[at].Sum += e.Count
			}
		}
	}
	return samples
}

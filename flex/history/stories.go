package history

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"slurmflex/flex/past"
	"slurmflex/flex/view"
)

// storyLine is the line of a job that has left Slurm's queue.
type storyLine struct {
	Version int    `json:"v"`
	Kind    Kind   `json:"kind"`
	ID      string `json:"id"`
	view.Past
}

func lineOf(story view.Past) storyLine {
	return storyLine{Version, Job, fmt.Sprintf("job-%d@%d", story.Job.ID, story.Events[0].At.Unix()), story}
}

// Story returns the story of the job that squeue shows by that name, or that has it as its raw id:
// that of the job in the queue, or else of the last one that has ended. It returns nil if the history
// has none.
func Story(dir, cluster, name string) (last *view.Past, err error) {
	number, _, _ := strings.Cut(name, "_")
	number, _, _ = strings.Cut(number, "+")
	err = stories(dir, cluster, number, func(story *view.Past) {
		if story.Job.Is(name) {
			last = story
		}
	})
	m, bad := load(dir, cluster)
	if open := m.stories.Of(name); bad == nil && open != nil {
		last = open
	}
	return last, err
}

// stories calls take for each recorded story with that text in its line, the oldest first.
func stories(dir, cluster, text string, take func(*view.Past)) error {
	r := reader{kind: Job, seen: map[string]struct{}{}}
	r.line = func(line []byte) error {
		if !bytes.Contains(line, []byte(text)) {
			return nil
		}
		var of storyLine
		if err := json.Unmarshal(line, &of); err != nil {
			return err
		}
		if _, again := r.seen[of.ID]; of.Kind == Job && !again {
			r.seen[of.ID] = struct{}{}
			take(&of.Past)
		}
		return nil
	}
	return r.files(Path(dir, cluster))
}

// Remember makes the recorder keep the stories of the last day, also those that are in the history
// when it starts.
func (r *Recorder) Remember() { r.remembers = true }

// mostEnded is how many stories of ended jobs a process keeps.
const mostEnded = 2000

// tell follows the stories of jobs. If others made the passes before this one, they have written the
// stories that have ended.
func (r *Recorder) tell(l *look, others bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.stories = &r.memory.stories
	for _, story := range r.stories.See(l.scene, l.plan, others) {
		r.unwritten = append(r.unwritten, lineOf(story))
		if r.recalled {
			r.ended = append(r.ended, story)
		}
	}
	isOld := func(story view.Past) bool { return l.scene.Seen.Now.Sub(story.EndedAt) > past.Length }
	r.ended = slices.DeleteFunc(slices.Clone(r.ended[max(0, len(r.ended)-mostEnded):]), isOld)
}

// recall reads the stories of the last day once, after the first look has written those that it ended.
func (r *Recorder) recall(now time.Time) {
	if !r.remembers || r.recalled {
		return
	}
	r.recalled = true
	var ended []view.Past
	r.report(stories(r.dir, r.cfg.Cluster, "", func(story *view.Past) {
		if now.Sub(story.EndedAt) <= past.Length {
			ended = append(ended, *story)
		}
	}))
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ended = ended
}

// Ended returns the stories of the jobs that ended in the last day, the last one first.
func (r *Recorder) Ended() []view.Past {
	r.mu.Lock()
	defer r.mu.Unlock()
	ended := slices.Clone(r.ended)
	slices.Reverse(ended)
	return ended
}

// Story returns what Story does, of the jobs in the queue and of the last day.
func (r *Recorder) Story(name string) *view.Past {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.stories != nil {
		if open := r.stories.Of(name); open != nil {
			return open
		}
	}
	for _, story := range slices.Backward(r.ended) {
		if story.Job.Is(name) {
			return &story
		}
	}
	return nil
}

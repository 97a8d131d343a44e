package flex

import (
	"time"

	"slurmflex/flex/plan/scene"
)

// problems are those that the last pass found, by their kind and what they are about,
// with when the log last named them: what they say may change while they last.
type problems map[problemKey]time.Time

type problemKey struct{ kind, about string }

// report logs what an admin should know: when it is new, and now and then while it
// lasts. A pass comes every few seconds, and one line is to be one event.
func (r *Reconciler) report(found scene.Problems) {
	now := problems{}
	for _, problem := range found {
		key := problemKey{problem.Key, problem.About}
		at, known := r.problems[key]
		if !known || age(r.Now(), at) >= remindAfter {
			r.Log.Warn(problem.Text)
			at = r.Now()
		}
		now[key] = at
	}
	r.problems = now
}

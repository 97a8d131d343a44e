package flex

import (
	"time"

	"slurmflex/flex/plan/scene"
)

// problems holds the problems that the last pass found, by kind and subject, with the time when
// each was last logged. The text of a problem may change while the problem lasts.
type problems map[problemKey]time.Time

type problemKey struct{ kind, about string }

// report logs a problem when it is new, and occasionally while it lasts. Passes run every few
// seconds, and one event must be one line.
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

package flex

import "time"

// remindAfter is after how long the log names a problem again that lasts.
const remindAfter = time.Hour

// problems are those that the last round found, with when the log last named
// them.
type problems map[string]time.Time

// report logs what an admin should know: when it is new, and now and then while it
// lasts. A round comes every few seconds, and one line is to be one event.
func (r *Reconciler) report(found []string) {
	now := problems{}
	for _, problem := range found {
		at, known := r.problems[problem]
		if !known || r.Now().Sub(at) >= remindAfter {
			r.Log.Warn(problem)
			at = r.Now()
		}
		now[problem] = at
	}
	r.problems = now
}

package memory

import (
	"maps"
	"sync"
	"time"

	"go.uber.org/zap"

	"slurmflex/flex/plan/action"
	"slurmflex/flex/plan/scene"
)

// remindAfter is the time after which the log repeats a lasting problem, or an action that fails
// the same way in each reconcile pass.
const remindAfter = time.Hour

// failures holds the last errors of actions, keyed by what the actions change, with the time when
// each error was logged.
type failures struct {
	mu     sync.Mutex
	logged map[string]failure
}

type failure struct {
	text string
	at   time.Time
}

// IsNews reports whether the log should show an error. A nil error means that the action succeeded,
// so its next failure is news.
func (f *failures) IsNews(a action.Action, err error, now time.Time) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	key := changed(a)
	maps.DeleteFunc(f.logged, func(_ string, was failure) bool { return age(now, was.at) >= remindAfter })
	if err == nil {
		delete(f.logged, key)
		return false
	}
	if f.logged[key].text == err.Error() {
		return false
	}
	if f.logged == nil {
		f.logged = map[string]failure{}
	}
	f.logged[key] = failure{err.Error(), now}
	return true
}

// Problems holds the problems that the last pass found, by kind and subject, with the time when
// each was last logged. The text of a problem may change while the problem lasts.
type Problems map[problemKey]time.Time

type problemKey struct{ kind, about string }

// Report logs a problem when it is new, and occasionally while it lasts. Passes run every few
// seconds, and one event must be one line.
func (p *Problems) Report(log *zap.Logger, found scene.Problems, now time.Time) {
	lasting := Problems{}
	for _, problem := range found {
		key := problemKey{problem.Key, problem.About}
		at, known := (*p)[key]
		if !known || age(now, at) >= remindAfter {
			log.Warn(problem.Text)
			at = now
		}
		lasting[key] = at
	}
	*p = lasting
}

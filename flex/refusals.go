package flex

import (
	"errors"
	"maps"
	"sync"
	"time"

	"slurmflex/flex/plan"
	"slurmflex/mig"
)

// refusalMatters is how long a refusal is remembered: longer than the longest
// wait before another attempt.
const refusalMatters = time.Hour

// refusals remembers what the cloud turned down, which leaves no record there;
// see plan.Snapshot. Actions run side by side.
type refusals struct {
	mu      sync.Mutex
	byGroup map[string]plan.Refusal
}

// matter returns a copy of the refusals that still do.
func (f *refusals) matter(now time.Time) map[string]plan.Refusal {
	f.mu.Lock()
	defer f.mu.Unlock()
	maps.DeleteFunc(f.byGroup, func(_ string, r plan.Refusal) bool { return now.Sub(r.At) > refusalMatters })
	return maps.Clone(f.byGroup)
}

// note remembers the outcome of creating something for a group, if that was
// turned down for good reason. A call whose outcome is unknown, or that came at a
// bad moment, is none; nor is one whose group somebody has deleted.
func (f *refusals) note(group string, err error, now time.Time) {
	switch mig.CauseOf(err) {
	case mig.CauseUnavailable, mig.CauseRate, mig.CauseConflict, mig.CauseNotFound:
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if err == nil {
		delete(f.byGroup, group)
		return
	}
	if f.byGroup == nil {
		f.byGroup = map[string]plan.Refusal{}
	}
	refusal := plan.Refusal{Cause: mig.CauseOf(err), Message: message(err), At: now, Times: f.byGroup[group].Times + 1}
	var e *mig.Error
	if errors.As(err, &e) {
		refusal.Owner = e.Owner
	}
	f.byGroup[group] = refusal
}

// message is the cloud's own words, without the operation and object that the
// reader knows already.
func message(err error) string {
	var e *mig.Error
	if errors.As(err, &e) {
		return e.Err.Error()
	}
	return err.Error()
}

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
	maps.DeleteFunc(f.byGroup, func(_ string, r plan.Refusal) bool { return age(now, r.At) > refusalMatters })
	return maps.Clone(f.byGroup)
}

// note remembers the outcome of creating something for a group. A call that came
// at a bad moment is shown and counts for nothing, nor does one whose group
// somebody has deleted. Other failures count on from those before, which another
// process has seen.
func (f *refusals) note(group string, err error, now time.Time, before int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	cause := mig.CauseOf(err)
	times := max(f.byGroup[group].Times, before) + 1
	switch cause {
	case mig.CauseConflict, mig.CauseNotFound:
		return
	case mig.CauseUnavailable, mig.CauseRate:
		if f.byGroup[group].Times > 0 {
			return
		}
		times = 0
	}
	if err == nil {
		delete(f.byGroup, group)
		return
	}
	if f.byGroup == nil {
		f.byGroup = map[string]plan.Refusal{}
	}
	refusal := plan.Refusal{Cause: cause, Message: message(err), At: now, Times: times}
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

package flex

import (
	"errors"
	"maps"
	"sync"
	"time"

	"slurmflex/flex/plan/scene"
	"slurmflex/mig"
)

// refusalMatters is how long a refusal is remembered: longer than the longest
// wait before another attempt.
const refusalMatters = time.Hour

// refusals remembers what the cloud turned down, which leaves no record there;
// see scene.Snapshot. Actions run side by side.
type refusals struct {
	mu      sync.Mutex
	byGroup map[string]scene.Refusal
}

// matter returns a copy of the refusals that still do.
func (f *refusals) matter(now time.Time) map[string]scene.Refusal {
	f.mu.Lock()
	defer f.mu.Unlock()
	maps.DeleteFunc(f.byGroup, func(_ string, r scene.Refusal) bool { return age(now, r.Failing.Last) > refusalMatters })
	return maps.Clone(f.byGroup)
}

// note remembers the outcome of creating something for a group.
func (f *refusals) note(group string, err error, now time.Time, before int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err == nil {
		delete(f.byGroup, group)
		return
	}
	if f.byGroup == nil {
		f.byGroup = map[string]scene.Refusal{}
	}
	owner := ""
	if e := (*mig.Error)(nil); errors.As(err, &e) {
		owner = e.Owner
	}
	f.byGroup[group] = f.byGroup[group].Fail(mig.TroubleOf(err), owner, now, before)
}

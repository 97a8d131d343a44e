package memory

import (
	"maps"
	"sync"
	"time"

	"slurmflex/flex/plan/scene"
	"slurmflex/mig"
)

// refusalMatters is how long a rejection is remembered: longer than the longest wait before another
// attempt.
const refusalMatters = time.Hour

// Refusals remembers what Compute rejected, because a rejection leaves no record in Compute; see
// scene.Snapshot. It is safe for concurrent use, because actions run in parallel.
type Refusals struct {
	mu      sync.Mutex
	byGroup map[string]scene.Refusal
}

// matter returns a copy of the rejections that are recent enough to matter.
func (f *Refusals) matter(now time.Time) map[string]scene.Refusal {
	f.mu.Lock()
	defer f.mu.Unlock()
	maps.DeleteFunc(f.byGroup, func(_ string, r scene.Refusal) bool { return age(now, r.Failing.Last) > refusalMatters })
	return maps.Clone(f.byGroup)
}

// Note records the outcome of creating something for a group. before is the number of failures that
// an earlier process saw.
func (f *Refusals) Note(group string, err error, now time.Time, before int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err == nil {
		delete(f.byGroup, group)
		return
	}
	if f.byGroup == nil {
		f.byGroup = map[string]scene.Refusal{}
	}
	f.byGroup[group] = f.byGroup[group].Fail(mig.TroubleOf(err), mig.OwnerOf(err).Cluster, now, before)
}

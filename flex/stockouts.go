package flex

import (
	"maps"
	"sync"
	"time"

	"slurmflex/flex/plan/scene"
	"slurmflex/mig"
)

// stockouts remembers of nodesets how often in a row there was no capacity for them;
// see scene.Snapshot. A restart forgets it: then a rest lets no job through, and the next one is
// short. Actions run side by side.
type stockouts struct {
	mu    sync.Mutex
	bySet map[string]scene.Stockout
}

// matter returns a copy of those that still do. What was noted while the clock was ahead
// does not: until then no refusal would count.
func (s *stockouts) matter(now time.Time) map[string]scene.Stockout {
	s.mu.Lock()
	defer s.mu.Unlock()
	maps.DeleteFunc(s.bySet, func(_ string, o scene.Stockout) bool { return o.At.After(now) || age(now, o.At) > refusalMatters })
	return maps.Clone(s.bySet)
}

// note remembers what became of having machines of a nodeset made. The refusals within a
// rest make none longer: they are of jobs that had their nodes before it began, or were let
// through in its second half.
func (s *stockouts) note(nodeset string, err error, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	last := s.bySet[nodeset]
	switch {
	case err == nil:
		last = scene.Stockout{At: now}
	case mig.CauseOf(err) != mig.CauseCapacity:
		return
	case now.Before(last.Until()):
		last.Probed = !now.Before(last.Middle())
	default:
		last = scene.Stockout{At: now, Times: last.Times + 1}
	}
	if s.bySet == nil {
		s.bySet = map[string]scene.Stockout{}
	}
	s.bySet[nodeset] = last
}

package memory

import (
	"maps"
	"sync"
	"time"

	"slurmflex/flex/plan/scene"
)

// latecomers holds the jobs that did not start in time. It is safe for concurrent use.
type latecomers struct {
	mu   sync.Mutex
	jobs map[uint32]scene.Late
}

// Note records that a job did not start in time.
func (l *latecomers) Note(job uint32, late scene.Late) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.jobs == nil {
		l.jobs = map[uint32]scene.Late{}
	}
	l.jobs[job] = late
}

// Matter returns the remembered jobs and forgets the expired ones.
func (l *latecomers) Matter(now time.Time) map[uint32]scene.Late {
	l.mu.Lock()
	defer l.mu.Unlock()
	maps.DeleteFunc(l.jobs, func(_ uint32, late scene.Late) bool { return !late.Until.After(now) })
	return maps.Clone(l.jobs)
}

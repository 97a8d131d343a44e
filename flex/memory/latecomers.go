package memory

import (
	"maps"
	"slices"
	"sync"
	"time"

	"slurmflex/flex/plan/scene"
	"slurmflex/slurm"
)

// lateMemory is how much longer slurmflex requests no machines for the job where it was late. If it
// was late everywhere, Slurm chooses its nodes, because the job may need other nodes than slurmflex
// would choose.
const lateMemory = time.Hour

// Latecomers holds the jobs that did not start in time. It is safe for concurrent use.
type Latecomers struct {
	mu   sync.Mutex
	jobs map[uint32]scene.Late
}

// Note records that a job did not start in time, besides the nodesets where it was late before.
func (l *Latecomers) Note(job uint32, late scene.Late) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.jobs == nil {
		l.jobs = map[uint32]scene.Late{}
	}
	before := slices.DeleteFunc(slices.Clone(l.jobs[job].In), func(set string) bool { return slices.Contains(late.In, set) })
	late.In = append(before, late.In...)
	l.jobs[job] = late
}

// hold keeps what is remembered of jobs that use a reservation now, such as a door in another
// nodeset, where they may wait for hours.
func (l *Latecomers) hold(jobs []slurm.Job, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := range jobs {
		j := &jobs[i]
		if late, known := l.jobs[j.ID]; known && j.Reservation != "" && j.State.Waits() && late.Until.Before(now) {
			late.Until = now
			l.jobs[j.ID] = late
		}
	}
}

// Matter returns the remembered jobs and forgets the expired ones.
func (l *Latecomers) Matter(now time.Time) map[uint32]scene.Late {
	l.mu.Lock()
	defer l.mu.Unlock()
	maps.DeleteFunc(l.jobs, func(_ uint32, late scene.Late) bool { return !late.Until.Add(lateMemory).After(now) })
	return maps.Clone(l.jobs)
}

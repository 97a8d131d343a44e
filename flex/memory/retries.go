package memory

import (
	"fmt"
	"maps"
	"sync"
	"time"

	"slurmflex/flex/plan/action"
	"slurmflex/slurm"
)

// rarestRetry is the longest wait between two attempts at a change that Slurm rejects. It bounds
// the time until slurmflex notices that the cause was fixed.
const rarestRetry = time.Minute

// Retries holds the changes that Slurm rejected at the last attempt, keyed by what they change. The
// plan repeats such a change in each reconcile pass, every few seconds.
type Retries struct {
	mu      sync.Mutex
	refused map[string]refusedChange
}

type refusedChange struct {
	times int // consecutive rejections
	last  time.Time
}

// IsDue reports whether an action may be tried now: one second after the first rejection, then
// after two, four and so on, up to rarestRetry.
func (r *Retries) IsDue(a action.Action, now time.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	was, refused := r.refused[changed(a)]
	return !refused || age(now, was.last) >= min(time.Second<<min(was.times-1, 10), rarestRetry)
}

// Note records the outcome of an action in Slurm. It returns how many times in a row Slurm has
// rejected it.
func (r *Retries) Note(a action.Action, err error, now time.Time) (times int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	maps.DeleteFunc(r.refused, func(_ string, was refusedChange) bool { return age(now, was.last) > 10*rarestRetry })
	key := changed(a)
	if err == nil {
		delete(r.refused, key)
		return 0
	}
	if r.refused == nil {
		r.refused = map[string]refusedChange{}
	}
	times = r.refused[key].times + 1
	r.refused[key] = refusedChange{times: times, last: now}
	return times
}

// changed names what an action changes, and the new state. The names of doors and covers have the
// time of the pass, so they do not identify the change.
func changed(a action.Action) string {
	about, what := a.About(), a.Queue()
	switch a := a.(type) {
	case action.SetNodes:
		what += " " + a.State
	case action.UseReservation:
		what = fmt.Sprintf("%s %t", a.Address, a.Leave)
	case action.CreateReservation:
		what = fmt.Sprintf("%t %s", a.Maint, a.User)
	}
	return fmt.Sprintf("%s %s %d %s", what, about.Kind, about.Job, slurm.Fold(about.Nodes))
}

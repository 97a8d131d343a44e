package memory

import (
	"fmt"
	"time"

	"slurmflex/flex/plan/action"
	"slurmflex/slurm"
)

// rarestRetry is the longest wait between two attempts at a change that Slurm rejects. It bounds
// the time until slurmflex notices that the cause was fixed.
const rarestRetry = time.Minute

// try is an action that failed at its last attempt. The plan repeats it in each pass, every few
// seconds.
type try struct {
	times  int // consecutive failures
	text   string
	logged time.Time
}

// IsDue reports whether a failed action may be tried again: one second after the first failure, then
// after two, four and so on, up to rarestRetry.
func (m *Memory) IsDue(a action.Action, now time.Time) bool {
	was, last, failed := m.tries.Get(changed(a))
	return !failed || age(now, last) >= min(time.Second<<min(was.times-1, 10), rarestRetry)
}

// Tried records the outcome of an action. It returns how many times in a row the action has failed, and
// whether the log should show the error.
func (m *Memory) Tried(a action.Action, err error, now time.Time) (times int, isNews bool) {
	key := changed(a)
	m.tries.Expire(now, remindAfter)
	if err == nil {
		m.tries.Forget(key)
		return 0, false
	}
	t, _, _ := m.tries.Get(key)
	t.times++
	if t.text != err.Error() || age(now, t.logged) >= remindAfter {
		t.text, t.logged, isNews = err.Error(), now, true
	}
	m.tries.Note(key, t, now)
	return t.times, isNews
}

// changed names what an action changes, and the new state. The names of doors and covers have the
// time of the pass, so they do not identify the change.
func changed(a action.Action) string {
	about := action.About(a)
	what := about.Queue
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

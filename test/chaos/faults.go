package chaos

import (
	"slices"
	"sync"
	"time"
)

// goal is whom a call is for.
type goal string

// The goals, and the program itself, which does not always run.
const (
	compute    goal = "Compute"
	controller goal = "slurmctld"
	program    goal = "slurmflex"
)

// faults knows what goes wrong with calls at the moment.
type faults struct {
	dice dice

	mu     sync.Mutex
	caught []caught
	counts map[string]count // calls so far, by what they were
	sick   map[goal]time.Time
}

// count is how many calls of a kind there were, those of one instant being one.
type count struct {
	n    int
	last time.Time
}

// caught is a sickness that goes about.
type caught struct {
	no    int // of the event that brought it
	goal  goal
	until time.Time
	sickness
}

func (a *faults) catch(no int, of goal, s sickness) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.caught = append(a.caught, caught{no, of, time.Now().Add(s.lasts), s})
}

// heal ends all sicknesses.
func (a *faults) heal() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.caught = nil
}

// turn is one call: which of its kind it is, how long it takes to get there,
// and what goes wrong with it.
type turn struct {
	goal    goal
	key     []any
	way     time.Duration
	ailment ailment // "" for none
}

// next decides about a call. All calls of a kind on an object are counted, so
// that each has a lot of its own, but that those made at one instant have the
// same: nothing tells them apart.
func (a *faults) next(of goal, kind, object string) turn {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.counts == nil {
		a.counts = map[string]count{}
	}
	what := string(of) + " " + kind + " " + object
	c := a.counts[what]
	if now := time.Now(); !now.Equal(c.last) {
		c = count{c.n + 1, now}
	}
	a.counts[what] = c
	t := turn{goal: of, key: []any{what, c.n}}
	t.way = a.dice.span(2*time.Millisecond, 60*time.Millisecond, append(t.key, "way")...)
	a.caught = slices.DeleteFunc(a.caught, func(c caught) bool { return !c.until.After(time.Now()) })
	for _, c := range a.caught {
		if c.goal == of && (c.calls == everything || c.calls == kind) && a.dice.oneIn(c.oneIn, append(t.key, c.no)...) {
			t.ailment = c.ailment
			break
		}
	}
	return t
}

// suffered notes that something has gone wrong with calls for a goal.
func (a *faults) suffered(of goal) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.sick == nil {
		a.sick = map[goal]time.Time{}
	}
	a.sick[of] = time.Now()
}

// well reports whether no call for these goals has gone wrong since then, and none
// may now.
func (a *faults) well(since time.Time, goals ...goal) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, of := range goals {
		if !a.sick[of].Before(since) || slices.ContainsFunc(a.caught, func(c caught) bool { return c.goal == of }) {
			return false
		}
	}
	return true
}

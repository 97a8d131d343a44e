package cost

import (
	"cmp"
	"slices"

	"slurmflex/flex/history"
)

// Purpose is what a machine's second was for.
type Purpose int

// The purposes. Each second of a lease has one.
const (
	Used    Purpose = iota // a job was on the machine
	Booting                // it was made, and its node was not at Slurm's disposal yet
	Idle                   // no job was on it
	Wasted                 // it never served a job: it did not boot, or its gang did not complete
	purposes
)

// part is a time of one purpose, and for whom it was. Of several jobs that shared
// it, each has its own part of the same time: the place-th of so many.
type part struct {
	purpose  Purpose
	who      *history.Who
	from, to history.Time
	place    int64
	sharers  int64
}

// seconds are those of the part between two times. The seconds of sharers are whole
// and add up to the time, also where it is cut into days.
func (p part) seconds(from, to history.Time) int64 {
	from, to = max(from, p.from), min(to, p.to)
	if from >= to {
		return 0
	}
	return p.first(int64(to-p.from)) - p.first(int64(from-p.from))
}

// first is how many of the first seconds are this sharer's: they take turns.
func (p part) first(seconds int64) int64 { return (seconds + p.sharers - 1 - p.place) / p.sharers }

// parts calls each for each part of a lease. What no job used is for the job that the
// machine was obtained for.
func parts(e *history.Entry, each func(part)) {
	alone := func(purpose Purpose, from, to history.Time) {
		if from < to {
			each(part{purpose, &e.Who, from, to, 0, 1})
		}
	}
	if e.Wasted > 0 {
		alone(Wasted, e.From, e.To)
		return
	}
	up := e.From + history.Time(e.Booting)
	alone(Booting, e.From, up)
	if !inTurn(e.Uses) {
		shared(e, up, alone, each)
		return
	}
	for i := range e.Uses {
		u := &e.Uses[i]
		alone(Idle, up, u.From)
		if u.From < u.To {
			each(part{Used, &u.Who, u.From, u.To, 0, 1})
		}
		up = u.To
	}
	alone(Idle, up, e.To)
}

// inTurn reports whether each job began when the one before it was over.
func inTurn(uses []history.Use) bool {
	for i := 1; i < len(uses); i++ {
		if uses[i].From < uses[i-1].To {
			return false
		}
	}
	return true
}

// shared are the parts of a lease of several jobs, cut wherever one begins or ends.
func shared(e *history.Entry, up history.Time, alone func(Purpose, history.Time, history.Time), each func(part)) {
	cuts := []history.Time{up, e.To}
	for _, u := range e.Uses {
		cuts = append(cuts, u.From, u.To)
	}
	slices.Sort(cuts)
	cuts = slices.Compact(cuts)
	uses := make([]*history.Use, len(e.Uses))
	for i := range e.Uses {
		uses[i] = &e.Uses[i]
	}
	slices.SortStableFunc(uses, func(a, b *history.Use) int { return cmp.Compare(a.From, b.From) })
	var there []*history.Use // in the order of their jobs
	for i := range len(cuts) - 1 {
		from, to := cuts[i], cuts[i+1]
		there = slices.DeleteFunc(there, func(u *history.Use) bool { return u.To <= from })
		for len(uses) > 0 && uses[0].From <= from {
			if uses[0].To > from {
				there = append(there, uses[0])
			}
			uses = uses[1:]
		}
		slices.SortStableFunc(there, func(a, b *history.Use) int { return cmp.Compare(a.Job, b.Job) })
		if len(there) == 0 {
			alone(Idle, from, to)
		}
		for place, u := range there {
			each(part{Used, &u.Who, from, to, int64(place), int64(len(there))})
		}
	}
}

package cost

import (
	"cmp"
	"slices"

	"slurmflex/flex/history"
)

// Purpose is the use of a machine's second.
type Purpose int

// The purposes. Each second of a lease has exactly one.
const (
	Used    Purpose = iota // a job was on the machine
	Booting                // the machine existed, but its node was not yet available to Slurm
	Idle                   // the machine was up without a job
	Wasted                 // never served a job: no boot, or other nodes of its job were missing
	purposes
)

// part is a period with one purpose and one beneficiary. Jobs that share a machine have one part
// each, for the same period.
type part struct {
	purpose  Purpose
	who      *history.Who
	from, to history.Time
	sharers  int // of this period, at least 1
}

// seconds returns the part's share of the period between two times.
func (p part) seconds(from, to history.Time) float64 {
	return float64(max(0, min(to, p.to)-max(from, p.from))) / float64(p.sharers)
}

// parts calls each for each part of a lease. Unused time is charged to the job that the machine was
// obtained for. Once a job has used the machine, it is charged to the job that left last. Unused
// time of a static node is not charged to any job.
func parts(e *history.Entry, each func(part)) {
	alone := func(purpose Purpose, who *history.Who, from, to history.Time) {
		if from < to {
			each(part{purpose, who, from, to, 1})
		}
	}
	if e.Wasted > 0 {
		alone(Wasted, &e.Who, e.From, e.To)
		return
	}
	up, last := e.From+history.Time(e.Booting), &e.Who
	alone(Booting, &e.Who, e.From, up)
	if !inTurn(e.Uses) {
		shared(e, up, each)
		return
	}
	for i := range e.Uses {
		u := &e.Uses[i]
		alone(Idle, last, up, u.From)
		if u.From < u.To {
			each(part{Used, &u.Who, u.From, u.To, 1})
		}
		up, last = u.To, lastOn(e, u)
	}
	alone(Idle, last, up, e.To)
}

// lastOn returns who is charged for the time after a use.
func lastOn(e *history.Entry, u *history.Use) *history.Who {
	if e.Job == 0 {
		return &e.Who
	}
	return &u.Who
}

// inTurn reports whether each job started after the previous one had ended.
func inTurn(uses []history.Use) bool {
	for i := 1; i < len(uses); i++ {
		if uses[i].From < uses[i-1].To {
			return false
		}
	}
	return true
}

// shared calls each for the parts of a lease with several jobs, cut wherever a job starts or ends.
func shared(e *history.Entry, up history.Time, each func(part)) {
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
	var there []*history.Use
	var last *history.Use
	for i := range len(cuts) - 1 {
		from, to := cuts[i], cuts[i+1]
		for _, u := range there {
			if u.To <= from && (last == nil || u.To > last.To) {
				last = u
			}
		}
		there = slices.DeleteFunc(there, func(u *history.Use) bool { return u.To <= from })
		for len(uses) > 0 && uses[0].From <= from {
			if uses[0].To > from {
				there = append(there, uses[0])
			}
			uses = uses[1:]
		}
		switch {
		case len(there) == 0 && last != nil:
			each(part{Idle, lastOn(e, last), from, to, 1})
		case len(there) == 0:
			each(part{Idle, &e.Who, from, to, 1})
		}
		for _, u := range there {
			each(part{Used, &u.Who, from, to, len(there)})
		}
	}
}

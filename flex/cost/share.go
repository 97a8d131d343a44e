package cost

import (
	"cmp"
	"slices"

	"slurmflex/flex/history"
)

// part is a period with one beneficiary. Jobs that share a machine have one part each, for the same
// period.
type part struct {
	who      *history.Who
	from, to history.Time
	sharers  int // of this period, at least 1
}

// seconds returns the part's share of the period between two times.
func (p part) seconds(from, to history.Time) float64 {
	return float64(max(0, min(to, p.to)-max(from, p.from))) / float64(p.sharers)
}

// parts calls each for each part of a lease, which is cut wherever a job starts or ends. Time without
// a job is charged to the job that the machine was obtained for. Once a job has used the machine, it
// is charged to the job that left last. Time without a job on a static node is not charged to any job.
func parts(e *history.Entry, each func(part)) {
	cuts := []history.Time{e.From, e.To}
	uses := make([]*history.Use, len(e.Uses))
	for i := range e.Uses {
		uses[i] = &e.Uses[i]
		cuts = append(cuts, uses[i].From, uses[i].To)
	}
	slices.Sort(cuts)
	cuts = slices.Compact(cuts)
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
		case len(there) == 0 && last != nil && e.Job != 0:
			each(part{&last.Who, from, to, 1})
		case len(there) == 0:
			each(part{&e.Who, from, to, 1})
		}
		for _, u := range there {
			each(part{&u.Who, from, to, len(there)})
		}
	}
}

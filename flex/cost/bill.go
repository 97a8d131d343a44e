// Package cost computes the use of machines, by user and other keys, and its cost, and reads from the
// history what they have taken in the present periods, for the limits on GPU hours and money.
package cost

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strconv"
	"time"

	"slurmflex/config"
	"slurmflex/flex/history"
)

// By determines the rows of a bill.
type By string

// The ways to divide a bill. Time without a job, or with an unknown job, has an empty key.
const (
	Account   By = "account"
	User      By = "user"
	Partition By = "partition"
	NodeSet   By = "nodeset"
	Job       By = "job"
	Day       By = "day"
)

// ways returns all ways to divide a bill.
func ways() []By { return []By{Account, User, Partition, NodeSet, Job, Day} }

// sum is the total of a row or of the whole bill.
type sum struct {
	machine float64          // machine seconds
	gpu     float64          // GPU seconds
	rates   map[rate]float64 // machine seconds by rate
}

// rate determines the price of machine seconds.
type rate struct {
	machine string // machine type
	model   billing
}

func (s *sum) add(e *history.Entry, seconds float64) {
	if s.rates == nil {
		s.rates = map[rate]float64{}
	}
	s.machine += seconds * float64(e.Count)
	s.gpu += seconds * float64(e.GPUs)
	s.rates[rateOf(e)] += seconds * float64(e.Count)
}

// inOrder returns the rates in a fixed order, so that their costs always add up to the same amount.
func (s sum) inOrder() []rate {
	return slices.SortedFunc(maps.Keys(s.rates), func(a, b rate) int {
		return cmp.Or(cmp.Compare(a.machine, b.machine), cmp.Compare(a.model, b.model))
	})
}

// bill sums up the leases of a period.
type bill struct {
	by       By
	from, to history.Time
	zone     *time.Location
	rows     map[string]sum // by key
	total    sum            // of all rows
	raceLost int64          // machine seconds for jobs that started in another nodeset
	ongoing  int            // leases that have not ended
}

// never is later than any time in a bill.
const never = history.Time(math.MaxInt64)

// newBill returns an empty bill for the period between two times; 0 means no bound. Days follow the
// given time zone.
func newBill(by By, from, to history.Time, zone *time.Location) *bill {
	if to == 0 {
		to = never
	}
	return &bill{by: by, from: from, to: to, zone: zone, rows: map[string]sum{}}
}

// take adds the seconds of a lease that fall within the bill's period.
func (b *bill) take(e *history.Entry) {
	if e.To <= b.from || e.From >= b.to {
		return
	}
	if e.Ongoing {
		b.ongoing++
	}
	b.raceLost += int64(e.Count) * int64(max(0, min(e.From+history.Time(e.RaceLost), b.to)-max(e.From, b.from)))
	parts(e, func(p part) {
		if b.by != Day {
			b.add(e, p, b.key(e, p.who), b.from, b.to)
			return
		}
		for at := max(p.from, b.from); at < min(p.to, b.to); {
			first, next := periodOf(config.Day, at.Time(), b.zone)
			b.add(e, p, first.Format(time.DateOnly), max(history.At(first), b.from), min(history.At(next), b.to))
			at = history.At(next)
		}
	})
}

func (b *bill) add(e *history.Entry, p part, key string, from, to history.Time) {
	seconds := p.seconds(from, to)
	if seconds == 0 {
		return
	}
	row := b.rows[key]
	row.add(e, seconds)
	b.rows[key] = row
	b.total.add(e, seconds)
}

// rateOf returns the rate of a lease.
func rateOf(e *history.Entry) rate {
	switch {
	case e.FlexStart:
		return rate{e.Machine, asFlex}
	case e.Spot:
		return rate{e.Machine, asSpot}
	}
	return rate{e.Machine, asOnDemand}
}

// key returns the row of a part.
func (b *bill) key(e *history.Entry, who *history.Who) string {
	switch {
	case b.by == Account:
		return who.Account
	case b.by == User:
		return who.User
	case b.by == Partition:
		return who.Partition
	case b.by == NodeSet:
		return e.NodeSet
	case who.Name != "" || who.Job == 0:
		return who.Name
	}
	return strconv.FormatUint(uint64(who.Job), 10)
}

// periodOf returns the day, week or month of a time, from its start up to the start of the next. Weeks
// start on Monday.
func periodOf(per config.Period, now time.Time, zone *time.Location) (from, to time.Time) {
	year, month, day := now.In(zone).Date()
	first, days := day, 1
	switch per {
	case config.Week:
		first, days = day-(int(now.In(zone).Weekday())+6)%7, 7
	case config.Month:
		return startOf(year, month, 1, zone), startOf(year, month+1, 1, zone)
	}
	return startOf(year, month, first, zone), startOf(year, month, first+days, zone)
}

// startOf returns the first moment of a date. Some time zones change their clocks at midnight, so
// that a day starts at 1:00, or has its first hour twice.
func startOf(year int, month time.Month, day int, zone *time.Location) time.Time {
	noon := time.Date(year, month, day, 12, 0, 0, 0, zone)
	start := time.Date(year, month, day, 0, 0, 0, 0, zone)
	switch earlier := start.Add(-time.Hour); {
	case start.Day() != noon.Day():
		_, start = start.ZoneBounds()
	case earlier.Day() == noon.Day():
		start = earlier
	}
	return start
}

// keys returns the keys of the bill's rows, the largest row first. Days are in order of time.
func (b *bill) keys() []string {
	return slices.SortedFunc(maps.Keys(b.rows), func(x, y string) int {
		if b.by == Day {
			return cmp.Compare(x, y)
		}
		return cmp.Or(cmp.Compare(b.rows[y].machine, b.rows[x].machine), cmp.Compare(x, y))
	})
}

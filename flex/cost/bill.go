// Package cost adds up what machines were used for, by whom, and what that cost. It
// is pure: no clock, no I/O.
package cost

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"time"

	"slurmflex/flex/history"
)

// By says what there is a row of the bill for.
type By string

// What a bill can be by. What is not a job's, or not known, has an empty key.
const (
	Account   By = "account"
	User      By = "user"
	Partition By = "partition"
	NodeSet   By = "nodeset"
	Job       By = "job"
	Day       By = "day"
)

// Ways are all that a bill can be by.
func Ways() []By { return []By{Account, User, Partition, NodeSet, Job, Day} }

// Sum is what a row, or the whole bill, comes to.
type Sum struct {
	Machine [purposes]float64 // machine seconds by purpose
	GPU     [purposes]float64 // GPU seconds by purpose

	rate   *rate    // of the machine seconds that are not among the others; nil before there are any
	others []priced // most sums have none
}

// rate is what machine seconds have one price by.
type rate struct {
	machine string // type
	model   Model
}

// priced are machine seconds that have one price.
type priced struct {
	rate
	seconds float64
}

// All are the machine seconds of all purposes.
func (s *Sum) All() (seconds float64) {
	for _, n := range s.Machine {
		seconds += n
	}
	return seconds
}

// AllGPU are the GPU seconds of all purposes.
func (s *Sum) AllGPU() (seconds float64) {
	for _, n := range s.GPU {
		seconds += n
	}
	return seconds
}

func (s *Sum) add(e *history.Entry, r *rate, purpose Purpose, seconds float64) {
	s.Machine[purpose] += seconds * float64(e.Count)
	s.GPU[purpose] += seconds * float64(e.GPUs)
	s.price(r, seconds*float64(e.Count))
}

// price notes the price of machine seconds that are in the sum.
func (s *Sum) price(r *rate, seconds float64) {
	if s.rate == nil {
		s.rate = r
	}
	if *s.rate == *r {
		return
	}
	for i := range s.others { // they are few
		if p := &s.others[i]; p.rate == *r {
			p.seconds += seconds
			return
		}
	}
	s.others = append(s.others, priced{*r, seconds})
}

// prices calls each for the machine seconds of each price.
func (s *Sum) prices(each func(priced)) {
	if s.rate == nil {
		return
	}
	first := priced{*s.rate, s.All()}
	for _, p := range s.others {
		first.seconds -= p.seconds
	}
	each(first)
	for _, p := range s.others {
		each(p)
	}
}

// plus adds another sum.
func (s *Sum) plus(other *Sum) {
	for purpose := range purposes {
		s.Machine[purpose] += other.Machine[purpose]
		s.GPU[purpose] += other.GPU[purpose]
	}
	other.prices(func(p priced) { s.price(&p.rate, p.seconds) })
}

// Row is what one key comes to.
type Row struct {
	Key string
	*Sum

	all float64 // that of the sum, known once, as there may be a million rows
}

// key is what a row is for: a text, or the raw id of a job that has no other name.
type key struct {
	text string
	job  uint32
}

// Bill is what the leases of a time come to.
type Bill struct {
	by       By
	from, to history.Time
	zone     *time.Location
	rows     map[string]*Sum
	jobs     map[uint32]*Sum // the rows of jobs without a name but their raw ids: there may be a million
	idle     Sum             // of all rows
	reused   float64         // machine seconds of jobs that the machines were not requested for

	day     dayOf // the last that was asked for
	lastKey key   // likewise
	last    *Sum  // its row; nil before there is one
	rate    *rate // of the last lease: sums share it
}

// dayOf is a day and its name.
type dayOf struct {
	from, to history.Time
	name     string
}

// never is later than all that is billed.
const never = history.Time(math.MaxInt64)

// NewBill is an empty bill for the time between two moments, where 0 is no bound.
// Days are those of the zone.
func NewBill(by By, from, to history.Time, zone *time.Location) *Bill {
	if to == 0 {
		to = never
	}
	return &Bill{by: by, from: from, to: to, zone: zone, rows: map[string]*Sum{}, jobs: map[uint32]*Sum{}}
}

// Take adds the seconds of a lease that are in the bill's time.
func (b *Bill) Take(e *history.Entry) {
	if e.To <= b.from || e.From >= b.to {
		return
	}
	parts(e, func(p part) {
		if b.by != Day {
			b.add(e, p, b.key(e, p.who), b.from, b.to)
			return
		}
		for at := max(p.from, b.from); at < min(p.to, b.to); at = b.day.to {
			b.setDay(at)
			b.add(e, p, key{text: b.day.name}, max(b.day.from, b.from), min(b.day.to, b.to))
		}
	})
}

func (b *Bill) add(e *history.Entry, p part, key key, from, to history.Time) {
	seconds := p.seconds(from, to)
	if seconds == 0 {
		return
	}
	if b.last == nil || key != b.lastKey {
		b.lastKey, b.last = key, b.row(key)
	}
	r := b.rateOf(e)
	b.last.add(e, r, p.purpose, seconds)
	switch {
	case p.purpose == Idle:
		b.idle.add(e, r, Idle, seconds)
	case p.purpose == Used && e.Job != 0 && e.Job != p.who.Job:
		b.reused += seconds * float64(e.Count)
	}
}

// row is the row of a key.
func (b *Bill) row(k key) *Sum {
	if k.job != 0 {
		return rowOf(b.jobs, k.job)
	}
	return rowOf(b.rows, k.text)
}

func rowOf[K comparable](rows map[K]*Sum, key K) *Sum {
	row := rows[key]
	if row == nil {
		row = &Sum{}
		rows[key] = row
	}
	return row
}

// rateOf is the rate of a lease.
func (b *Bill) rateOf(e *history.Entry) *rate {
	r := rate{e.Machine, OnDemand}
	switch {
	case e.FlexStart:
		r.model = Flex
	case e.Spot:
		r.model = Spot
	}
	if b.rate == nil || *b.rate != r {
		b.rate = &r
	}
	return b.rate
}

// key is the row of a part.
func (b *Bill) key(e *history.Entry, who *history.Who) key {
	switch {
	case b.by == Account:
		return key{text: who.Account}
	case b.by == User:
		return key{text: who.User}
	case b.by == Partition:
		return key{text: who.Partition}
	case b.by == NodeSet:
		return key{text: e.NodeSet}
	case who.Name != "":
		return key{text: who.Name}
	}
	return key{job: who.Job}
}

// setDay finds the day of a moment in the bill's zone.
func (b *Bill) setDay(at history.Time) {
	if b.day.from <= at && at < b.day.to {
		return
	}
	year, month, day := at.Time().In(b.zone).Date()
	first := time.Date(year, month, day, 0, 0, 0, 0, b.zone)
	b.day = dayOf{history.At(first), history.At(time.Date(year, month, day+1, 0, 0, 0, 0, b.zone)), first.Format(time.DateOnly)}
}

// Rows are the bill's, the largest first; days in their order.
func (b *Bill) Rows() []Row {
	rows := make([]Row, 0, len(b.rows)+len(b.jobs))
	for name, sum := range b.rows {
		rows = append(rows, Row{name, sum, sum.All()})
	}
	for job, sum := range b.jobs {
		rows = append(rows, Row{strconv.FormatUint(uint64(job), 10), sum, sum.All()})
	}
	slices.SortFunc(rows, func(x, y Row) int {
		if b.by == Day || x.all == y.all {
			return cmp.Compare(x.Key, y.Key)
		}
		return cmp.Compare(y.all, x.all)
	})
	return rows
}

// Total is the sum of all rows.
func (b *Bill) Total() (total Sum) {
	for _, sum := range b.rows {
		total.plus(sum)
	}
	for _, sum := range b.jobs {
		total.plus(sum)
	}
	return total
}

package estimate

import (
	"cmp"
	"slices"
	"time"

	"slurmflex/flex/history"
)

// Request is what is or would be requested.
type Request struct {
	Count int   // nodes, 1 or more
	Lease int64 // seconds, 1 or more
}

// Sample is a wait of the past, or one that goes on.
type Sample struct {
	Begun   history.Time
	Took    int64 // seconds, so far if it goes on
	Granted bool  // it brought machines

	count   int
	lease   int64
	hours   Hours // the part of the week when it started
	sameSet bool  // it was for the request's nodeset, and not only for its machine type
}

// Bounds of what is looked at.
const (
	maxAge     = 365 * 24 * 3600 // seconds
	maxSamples = 100_000         // the newest of them
)

// kind is what waits are kept apart by.
type kind struct{ nodeset, machine string }

// Book holds the waits of a year, by nodeset and machine type.
type Book struct {
	now   history.Time
	zone  *time.Location
	waits map[kind][]Sample
}

// NewBook returns an empty book for waits that started in the year before now. Hours of the day
// are in the given zone.
func NewBook(now history.Time, zone *time.Location) *Book {
	return &Book{now: now, zone: zone, waits: map[kind][]Sample{}}
}

// Take adds a wait of the history; one that goes on has no end. One whose lease is
// not known says nothing.
func (b *Book) Take(e *history.Entry) {
	if e.From < b.now-maxAge || e.Seconds <= 0 {
		return
	}
	key := kind{e.NodeSet, e.Machine}
	waits := b.waits[key]
	if len(waits) >= 2*maxSamples {
		waits = newest(waits)
	}
	b.waits[key] = append(waits, Sample{
		Begun: e.From, Took: e.Took(), Granted: e.End == history.Granted,
		count: e.Count, lease: e.Seconds, hours: b.hoursOf(e.From),
	})
}

func (b *Book) hoursOf(t history.Time) Hours { return hoursOf(t.Time().In(b.zone)) }

// newest drops the oldest of too many samples. It leaves them in the order of time, in
// which most of them come: then they are soon sorted.
func newest(samples []Sample) []Sample {
	if len(samples) > maxSamples {
		slices.SortFunc(samples, func(a, b Sample) int { return cmp.Compare(a.Begun, b.Begun) })
		samples = samples[:copy(samples, samples[len(samples)-maxSamples:])]
	}
	return samples
}

// Samples are the waits that may say something about requests for a nodeset, those
// for its machine type included.
type Samples struct {
	NodeSet string
	Machine string // empty if it is not known

	all     []Sample     // in the order of a curve
	changed history.Time // when the law of the nodeset's waits last changed; 0: never
	hourly  bool         // its waits differ between the parts of the week
	hoursOf func(history.Time) Hours
}

// Of are the samples for a nodeset with that machine type; without one, that of its
// newest wait.
func (b *Book) Of(nodeset, machine string) *Samples {
	if machine == "" {
		machine = b.machineOf(nodeset)
	}
	s := &Samples{NodeSet: nodeset, Machine: machine, hoursOf: b.hoursOf}
	for key, waits := range b.waits {
		sameSet := key.nodeset == nodeset
		if !sameSet && (machine == "" || key.machine != machine) {
			continue
		}
		for _, sample := range newest(waits) {
			sample.sameSet = sameSet
			s.all = append(s.all, sample)
		}
	}
	inOrder(s.all)
	since := s.compared()
	s.findChange(b.now, since)
	s.hourly = s.findHours(since)
	return s
}

// machineOf is the machine type of the nodeset's newest wait; empty if none says.
func (b *Book) machineOf(nodeset string) (machine string) {
	var last history.Time
	for key, waits := range b.waits {
		for _, sample := range waits {
			if key.nodeset == nodeset && key.machine != "" && sample.Begun > last {
				machine, last = key.machine, sample.Begun
			}
		}
	}
	return machine
}

// inOrder puts samples in the order of a curve.
func inOrder(samples []Sample) {
	slices.SortFunc(samples, func(a, b Sample) int {
		return cmp.Or(cmp.Compare(a.Took, b.Took), cmp.Compare(grantedFirst(a), grantedFirst(b)))
	})
}

func grantedFirst(s Sample) int {
	if s.Granted {
		return 0
	}
	return 1
}

package estimate

import (
	"cmp"
	"slices"
	"time"

	"slurmflex/flex/history"
)

// Request is an existing or a possible request.
type Request struct {
	Count int   // nodes, 1 or more
	Lease int64 // seconds, 1 or more
}

// Sample is a past or an ongoing wait.
type Sample struct {
	Begun   history.Time
	Took    int64 // seconds; for an ongoing wait, so far
	Granted bool  // machines were created

	count   int
	lease   int64
	hours   Hours // the part of the week when it started
	sameSet bool  // for the request's nodeset, and not only for its machine type
}

// The limits of the waits that are used.
const (
	maxAge     = 365 * 24 * 3600 // seconds
	maxSamples = 100_000         // the newest waits
)

// kind groups waits that are not mixed.
type kind struct{ nodeset, machine string }

// Book holds the waits of a year, by nodeset and machine type.
type Book struct {
	now   history.Time
	zone  *time.Location
	waits map[kind][]Sample
}

// NewBook returns an empty book for waits that started in the year before now. Hours of the day are
// in the given zone.
func NewBook(now history.Time, zone *time.Location) *Book {
	return &Book{now: now, zone: zone, waits: map[kind][]Sample{}}
}

// Take adds a wait from the history. Take ignores a wait with an unknown lease.
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

// newest drops the oldest samples if there are too many. It returns them in the order of time. Most
// samples arrive in that order, so sorting them is fast.
func newest(samples []Sample) []Sample {
	if len(samples) > maxSamples {
		slices.SortFunc(samples, func(a, b Sample) int { return cmp.Compare(a.Begun, b.Begun) })
		samples = samples[:copy(samples, samples[len(samples)-maxSamples:])]
	}
	return samples
}

// Samples are the waits that may inform requests for a nodeset, including those for its machine
// type.
type Samples struct {
	NodeSet string
	Machine string // empty if unknown

	all     []Sample     // in the order of a curve
	changed history.Time // when the law of the nodeset's waits last changed; 0: never
	hourly  bool         // its waits differ between the parts of the week
	hoursOf func(history.Time) Hours
}

// Of returns the samples for a nodeset with that machine type. If machine is empty, the type of the
// nodeset's newest wait is used.
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

// machineOf returns the machine type of the nodeset's newest wait; empty if no wait has one.
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

// inOrder sorts samples into the order of a curve.
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

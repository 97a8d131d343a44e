// Package estimate estimates how long a request for machines may wait, from the waits of the latest
// requests like it.
package estimate

import (
	"cmp"
	"math/bits"
	"slices"
	"sort"
	"time"

	"slurmflex/flex/history"
	"slurmflex/flex/view"
)

// An estimate counts the requests of the last latestDays or, if that is more, the last latestRequests.
// Older requests do not count, so that an estimate follows a change within days. An estimate needs
// least requests that waited at least as long as the job, and then got machines.
const (
	latestDays     = 14
	latestRequests = 30
	least          = 10
)

// wait is how long a request waited.
type wait struct {
	begun   history.Time
	took    int64 // seconds; for an ongoing wait, so far
	granted bool  // machines were created
}

// kind groups requests that are like each other: those for a nodeset with a similar number of nodes.
type kind struct {
	nodeset string
	size    int // sizeOf the number of nodes, or anySize
}

const anySize = -1

// sizeOf returns the same number for 1 node, 2 nodes, 3 to 4 nodes, 5 to 8 nodes, and so on.
func sizeOf(nodes int) int { return bits.Len(uint(nodes - 1)) }

// book holds the waits of a history. It is pure, but not safe for concurrent use.
type book struct {
	now   history.Time
	waits map[kind][]wait
	newly map[kind][]wait // the latest of waits, the shortest first
}

// newBook returns an empty book for a history that is read now.
func newBook(now time.Time) *book {
	return &book{now: history.At(now), waits: map[kind][]wait{}, newly: map[kind][]wait{}}
}

// take adds a wait from the history. No wait may follow the first estimate.
func (b *book) take(e *history.Entry) {
	for _, size := range []int{sizeOf(e.Count), anySize} {
		of := kind{e.NodeSet, size}
		b.waits[of] = append(b.waits[of], wait{begun: e.From, took: e.Took(), granted: e.End == history.Granted})
	}
}

// latest returns the latest waits of a kind in the order of a Kaplan–Meier curve: the shortest first
// and, of equal waits, granted ones first.
func (b *book) latest(of kind) []wait {
	if waits, ok := b.newly[of]; ok {
		return waits
	}
	waits := b.waits[of]
	slices.SortFunc(waits, func(a, b wait) int { return cmp.Compare(b.begun, a.begun) })
	since := b.now - latestDays*24*3600
	newer := sort.Search(len(waits), func(i int) bool { return waits[i].begun < since })
	waits = waits[:max(newer, min(latestRequests, len(waits)))]
	slices.SortFunc(waits, func(a, b wait) int {
		switch {
		case a.took != b.took:
			return cmp.Compare(a.took, b.took)
		case a.granted == b.granted:
			return 0
		case a.granted:
			return -1
		}
		return 1
	})
	b.newly[of] = waits
	return waits
}

// estimate estimates how much longer a request for nodes of a nodeset waits that has waited for that
// many seconds. It counts requests with a similar number of nodes, or of any size if those are too
// few. It returns nil if even these are too few.
func (b *book) estimate(nodeset string, nodes int, waited int64) *view.Estimate {
	for _, size := range []int{sizeOf(nodes), anySize} {
		all := b.latest(kind{nodeset, size})
		// The curve of the waits that lasted this long is the conditional one.
		rest := all[sort.Search(len(all), func(i int) bool { return all[i].took >= waited }):]
		granted, oldest := 0, b.now
		for _, w := range rest {
			oldest = min(oldest, w.begun)
			if w.granted {
				granted++
			}
		}
		if granted >= least {
			return &view.Estimate{
				Median: left(rest, .5, waited), P90: left(rest, .9, waited),
				Requests: len(rest), AnySize: size == anySize, Oldest: oldest.Time(),
			}
		}
	}
	return nil
}

// left returns a quantile of the time that is left after a request has waited; 0 if it is unknown.
func left(waits []wait, p float64, waited int64) view.Seconds {
	took, ok := quantile(waits, p)
	if !ok {
		return 0
	}
	return view.Seconds(time.Duration(max(took-waited, 1)) * time.Second)
}

// rounding is the tolerance for rounding errors in products of fractions.
const rounding = 1e-9

// quantile returns the time, in seconds, within which the next wait ends with probability p, from 0
// to 1, by the Kaplan–Meier curve of waits in the order of book.latest. A wait that was not granted
// only shows that it would have lasted longer. Of n waits, the k-th shortest is such a time for
// k/(n+1), because the next wait is equally likely to fall into each of the n+1 gaps between them. It
// reports false if the waits do not determine the time. Source: Kaplan and Meier, Nonparametric
// Estimation from Incomplete Observations, 1958.
func quantile(waits []wait, p float64) (seconds int64, ok bool) {
	n := float64(len(waits))
	longer, rest := 1.0, 1-p*(n+1)/n // longer is the part of waits that last longer
	for i, w := range waits {
		if !w.granted {
			continue
		}
		if longer *= 1 - 1/float64(len(waits)-i); longer <= rest+rounding {
			return w.took, true
		}
	}
	return 0, false
}

package estimate

import (
	"math"
	"math/bits"
	"slices"

	"slurmflex/flex/history"
)

// Change compares the waits of the last days with earlier waits.
type Change struct {
	Days int `json:"days"`
	// Slower is the median since the change, divided by the median before. Below 1 means faster.
	Slower float64 `json:"times_slower"`
}

// notable is the smallest factor that a text mentions. Texts stop mentioning a change after
// newsDays.
const (
	notable  = 1.5
	newsDays = 28
)

// changeOf compares an estimate from waits since the change with earlier waits. It returns nil if
// they hardly differ.
func (s *Samples) changeOf(e Estimate, r Request, with reach, now history.Time, like []Sample) *Change {
	days := int((now - s.changed) / day)
	if with.since == 0 || days > newsDays {
		return nil
	}
	with.since = 0
	is, ok := e.Curve.Quantile(.5)
	was, known := s.of(r, with, s.changed-1, like).Curve.Quantile(.5)
	if !ok || !known || min(is, was) <= 0 || near(float64(is), float64(was), notable) {
		return nil
	}
	return &Change{Days: days, Slower: math.Round(float64(is)/float64(was)*100) / 100}
}

// stratum is a group of waits that are compared with each other.
type stratum struct {
	size, lease int // powers of 2 and of 4
	hours       Hours
	changed     bool // started since the last change
}

func (s *Samples) stratumOf(w Sample) stratum {
	return stratum{bits.Len(uint(w.count)), bits.Len64(uint64(w.lease)) / 2, w.hours, w.Begun >= s.changed}
}

// strata groups the nodeset's own waits since that time by stratum. Each group keeps the order of a
// curve.
func (s *Samples) strata(since history.Time, of func(Sample) stratum) (groups [][]Sample) {
	place := map[stratum]int{}
	for _, w := range s.all {
		if !w.sameSet || w.Begun < since {
			continue
		}
		key := of(w)
		if _, ok := place[key]; !ok {
			place[key], groups = len(groups), append(groups, nil)
		}
		groups[place[key]] = append(groups[place[key]], w)
	}
	return groups
}

// maxCompared limits how many of the nodeset's newest waits are compared.
const maxCompared = 10_000

// compared returns the start of the nodeset's waits that are compared; 0 means all waits.
func (s *Samples) compared() history.Time {
	var begun []history.Time
	for _, w := range s.all {
		if w.sameSet {
			begun = append(begun, w.Begun)
		}
	}
	if len(begun) <= maxCompared {
		return 0
	}
	slices.Sort(begun)
	return begun[len(begun)-maxCompared]
}

// certain is the smallest log-rank statistic that shows a difference between two groups. Chance
// alone exceeds 4 once in 16,000 comparisons, and one estimate makes about 30 comparisons.
const certain = 4

// findChange finds the last time at which the law of the nodeset's waits changed. A change of
// capacity affects requests of every size and lease, so findChange compares waits within their
// stratum, and all strata count together.
func (s *Samples) findChange(now, since history.Time) {
	for {
		groups := s.strata(max(since, s.changed), s.stratumOf)
		best, at := float64(certain), history.Time(0)
		for days := 1; days < maxAge/day; days += 1 + days/8 {
			cut := now - history.Time(days*day)
			if cut <= s.changed {
				break
			}
			var l logRank
			for _, group := range groups {
				l.add(group, func(w Sample) bool { return w.Begun >= cut })
			}
			if z := math.Abs(l.statistic()); z > best {
				best, at = z, cut
			}
		}
		if at == 0 {
			return
		}
		s.changed = at
	}
}

// findHours reports whether waits differ between the parts of the week.
func (s *Samples) findHours(since history.Time) bool {
	groups := s.strata(since, func(w Sample) stratum {
		key := s.stratumOf(w)
		key.hours = AnyHours
		return key
	})
	for _, hours := range []Hours{Working, Night, Weekend} {
		var l logRank
		for _, group := range groups {
			l.add(group, func(w Sample) bool { return w.hours == hours })
		}
		if math.Abs(l.statistic()) > certain {
			return true
		}
	}
	return false
}

// logRank tests, stratum by stratum, whether two groups of waits follow the same law. Source:
// Mantel, Evaluation of Survival Data, 1966.
type logRank struct {
	surplus  float64 // granted waits of the first group, less the expected number
	variance float64
}

// add adds a stratum, which must be in the order of a curve.
func (l *logRank) add(sorted []Sample, first func(Sample) bool) {
	var risk, granted struct{ all, first float64 }
	for _, w := range sorted {
		risk.all++
		if first(w) {
			risk.first++
		}
	}
	for i := 0; i < len(sorted) && risk.first > 0 && risk.first < risk.all; {
		before := risk
		granted.all, granted.first = 0, 0
		for at := sorted[i].Took; i < len(sorted) && sorted[i].Took == at; i++ {
			one, inFirst := 0., 0.
			if sorted[i].Granted {
				one = 1
			}
			if first(sorted[i]) {
				inFirst = 1
			}
			risk.all, risk.first = risk.all-1, risk.first-inFirst
			granted.all, granted.first = granted.all+one, granted.first+one*inFirst
		}
		part := before.first / before.all
		l.surplus += granted.first - granted.all*part
		if before.all > 1 {
			l.variance += granted.all * part * (1 - part) * (before.all - granted.all) / (before.all - 1)
		}
	}
}

// statistic returns a normally distributed number with variance 1 if the groups follow the same
// law.
func (l *logRank) statistic() float64 {
	if l.variance == 0 {
		return 0
	}
	return l.surplus / math.Sqrt(l.variance)
}

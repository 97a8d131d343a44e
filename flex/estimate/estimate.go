package estimate

import (
	"fmt"
	"slices"
	"strings"

	"slurmflex/flex/history"
	"slurmflex/mig"
)

// reach determines which waits count as similar to a request.
type reach struct {
	anySet bool    // also waits of other nodesets with the same machine type
	size   float64 // number of nodes, up to this factor more or fewer
	lease  float64 // lease, up to this factor longer or shorter; 0: any lease
	days   int     // started in this number of days

	hours Hours        // only waits in this part of the week
	since history.Time // only the nodeset's waits since this time
}

// reaches are tried in order until there are enough waits. None of them compares single nodes with
// many, because their waits differ in kind.
var reaches = []reach{
	{size: 1.5, lease: 2, days: 28},
	{size: 1.5, lease: 2, days: 90},
	{size: 1.5, lease: 2, days: 365},
	{size: 3, lease: 6, days: 365},
	{size: 3, days: 365},
	{anySet: true, size: 3, lease: 6, days: 365},
	{anySet: true, size: 3, days: 365},
}

// These constants are numbers of granted waits. The search ends with enough. It returns no estimate
// if it finds fewer than least.
const (
	enough = 30
	least  = 10
)

// Estimate is an estimate of a request's wait.
type Estimate struct {
	Like    string // describes the waits
	Samples int    // number of waits, including cancelled and ongoing ones
	Granted int    // granted waits
	Oldest  history.Time
	Newest  history.Time // start times of the waits
	Curve   Curve

	Change *Change // nil if the waits are about as long as before
}

// For estimates the wait of a request that has already waited for that many seconds. It reports
// false if the history lacks similar waits. For prefers waits since the last change and, if waits
// differ between the parts of the week, waits in the same part.
func (s *Samples) For(r Request, waited int64, now history.Time) (Estimate, bool) {
	hours := AnyHours
	if s.hourly {
		hours = s.hoursOf(now - history.Time(waited))
	}
	like := make([]Sample, 0, len(s.all))
	for _, narrow := range slices.Compact([]reach{{hours: hours, since: s.changed}, {since: s.changed}, {hours: hours}, {}}) {
		var widest Estimate
		var with reach
		for _, reach := range reaches {
			reach.hours, reach.since = narrow.hours, narrow.since
			e := s.of(r, reach, now, like)
			if e.known(waited) > widest.known(waited) {
				widest, with = e, reach
			}
			if e.known(waited) >= enough {
				break
			}
		}
		if widest.known(waited) >= least {
			widest.Change = s.changeOf(widest, r, with, now, like)
			return widest, true
		}
	}
	return Estimate{}, false
}

// known returns the number of waits that inform the estimate for a request that has waited that
// long.
func (e Estimate) known(waited int64) int {
	if waited == 0 {
		return e.Granted
	}
	return min(e.Granted, e.Curve.After(waited).samples)
}

// of estimates from the waits of one reach that started by now. It collects them in like, which
// must have room for all waits.
func (s *Samples) of(r Request, reach reach, now history.Time, like []Sample) Estimate {
	e := Estimate{Like: s.says(reach, r, now)}
	since := now - history.Time(reach.days*day)
	for _, sample := range s.all {
		if sample.Begun < since || sample.Begun > now || !sample.sameSet && !reach.anySet ||
			sample.sameSet && sample.Begun < reach.since || reach.hours != AnyHours && sample.hours != reach.hours ||
			!near(float64(sample.count), float64(r.Count), reach.size) || !near(float64(sample.lease), float64(r.Lease), reach.lease) {
			continue
		}
		like = append(like, sample)
		if sample.Granted {
			e.Granted++
		}
		if e.Oldest == 0 || sample.Begun < e.Oldest {
			e.Oldest = sample.Begun
		}
		e.Newest = max(e.Newest, sample.Begun)
	}
	e.Samples, e.Curve = len(like), KaplanMeier(like)
	return e
}

// near reports whether two numbers are equal up to a factor; 0 means any numbers.
func near(a, b, factor float64) bool { return factor == 0 || a <= b*factor && b <= a*factor }

// says describes the waits of a reach for a request.
func (s *Samples) says(r reach, of Request, now history.Time) string {
	what := "nodeset " + s.NodeSet
	if r.anySet {
		what = "machine type " + s.Machine
	}
	low, high := around(float64(of.Count), r.size)
	nodes := fmt.Sprintf("%d to %d nodes", low, high)
	switch {
	case high == 1:
		nodes = "1 node"
	case low == high:
		nodes = fmt.Sprintf("%d nodes", low)
	}
	lease := "any lease"
	if r.lease != 0 {
		lease = fmt.Sprintf("leases of %s to %s", hours(float64(of.Lease)/r.lease), hours(min(float64(of.Lease)*r.lease, mig.MaxDuration.Seconds())))
	}
	days := r.days
	if r.since != 0 {
		days = min(days, int((now-r.since+day-1)/day))
	}
	begun := fmt.Sprintf("the last %d days", days)
	if days == 1 {
		begun = "the last day"
	}
	if r.hours != AnyHours {
		begun += ", " + r.hours.String()
	}
	return fmt.Sprintf("%s, %s, %s, %s", what, nodes, lease, begun)
}

// around returns the range of whole numbers within the factor.
func around(n, factor float64) (low, high int) {
	low = int(n / factor)
	for !near(float64(low), n, factor) || low < 1 {
		low++
	}
	return low, int(n * factor)
}

// hours formats seconds as hours with one decimal, or as minutes if they are few.
func hours(seconds float64) string {
	if seconds < 3*hour {
		return fmt.Sprintf("%.0f min", seconds/60)
	}
	return strings.TrimSuffix(fmt.Sprintf("%.1f", seconds/hour), ".0") + " h"
}

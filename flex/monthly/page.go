// Package monthly writes the month's use of flex-start machines as one HTML page for
// people who pay: waits, use, waste and money. The page loads nothing from elsewhere and
// prints well. It is pure: no clock, no I/O but the writer.
package monthly

import (
	"cmp"
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"slices"
	"time"

	"slurmflex/flex/cost"
	"slurmflex/flex/estimate"
	"slurmflex/flex/history"
)

// Month is what the page is made from.
type Month struct {
	First time.Time // its first day at midnight, in the zone of the page
	At    time.Time // when the page was made

	Days, Accounts, Users, NodeSets cost.Report // bills of the month
	Waits                           []Wait      // by nodeset
}

// Wait is how long requests of a nodeset waited that were made in the month.
type Wait struct {
	NodeSet  string
	Requests int // all of them
	Granted  int // that got machines
	GivenUp  int // that failed, or whose job left
	Half     time.Duration
	Ninety   time.Duration // nine of ten were granted within; 0, like Half: the waits do not say
}

// Waits collects the waits of a month.
type Waits struct {
	from, to history.Time
	sets     map[string]*waits
}

// waits are those of one nodeset.
type waits struct {
	samples []estimate.Sample
	givenUp int
}

// NewWaits collects waits that began between two moments; the second is not in it.
func NewWaits(from, to history.Time) *Waits {
	return &Waits{from: from, to: to, sets: map[string]*waits{}}
}

// Take adds a wait of the history.
func (w *Waits) Take(e *history.Entry) {
	if e.From < w.from || e.From >= w.to {
		return
	}
	set := w.sets[e.NodeSet]
	if set == nil {
		set = &waits{}
		w.sets[e.NodeSet] = set
	}
	granted := e.End == history.Granted
	set.samples = append(set.samples, estimate.Sample{Begun: e.From, Took: e.Took(), Granted: granted})
	if !granted && !e.Ongoing {
		set.givenUp++
	}
}

// All are the waits by nodeset.
func (w *Waits) All() (all []Wait) {
	for name, set := range w.sets {
		one := Wait{NodeSet: name, Requests: len(set.samples), GivenUp: set.givenUp}
		for _, s := range set.samples {
			if s.Granted {
				one.Granted++
			}
		}
		curve := estimate.CurveOf(set.samples)
		one.Half, one.Ninety = within(curve, .5), within(curve, .9)
		all = append(all, one)
	}
	slices.SortFunc(all, func(a, b Wait) int { return cmp.Compare(a.NodeSet, b.NodeSet) })
	return all
}

func within(c estimate.Curve, p float64) time.Duration {
	seconds, _ := c.Quantile(p)
	return time.Duration(seconds) * time.Second
}

//go:embed page.html
var page string

var compiled = template.Must(template.New("monthly").Funcs(template.FuncMap{
	"hours": hours, "share": share, "span": span, "chart": chartOf, "legend": func() []string { return purposes[:] },
	"tables": func(m Month) []table {
		return []table{{"account", m.Accounts}, {"user", m.Users}, {"nodeset", m.NodeSets}}
	},
}).Parse(page))

// table is a bill with the name of its first column.
type table struct {
	By string
	cost.Report
}

// Write writes the page.
func Write(w io.Writer, m Month) error {
	if err := compiled.Execute(w, m); err != nil {
		return fmt.Errorf("write the report: %w", err)
	}
	return nil
}

// hours are seconds in hours with a decimal.
func hours(seconds int64) string { return fmt.Sprintf("%.1f", float64(seconds)/3600) }

// share is a part of a whole in percent.
func share(part, whole int64) string {
	if whole == 0 {
		return "–"
	}
	return fmt.Sprintf("%.0f %%", 100*float64(part)/float64(whole))
}

// span is a wait for people: 2h10m, 45s; a dash if the waits do not say.
func span(d time.Duration) string {
	switch {
	case d == 0:
		return "–"
	case d < time.Minute:
		return fmt.Sprintf("%ds", d/time.Second)
	case d < time.Hour:
		return fmt.Sprintf("%dm", d/time.Minute)
	case d < 24*time.Hour:
		return fmt.Sprintf("%dh%02dm", d/time.Hour, d%time.Hour/time.Minute)
	}
	return fmt.Sprintf("%dd%02dh", d/(24*time.Hour), d%(24*time.Hour)/time.Hour)
}

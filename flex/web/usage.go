package web

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"slurmflex/flex/cost"
	"slurmflex/flex/view"
)

// usage is the machine hours of the last days by account, as bars and as a table.
type usage struct {
	Error string // why they are not known; empty: they are
	Title string
	Desc  string
	Keep  string // how much of it was idle, and reused; empty: nothing
	Most  string
	Days  []usedDay
	Ticks []tick
	Keys  []key
}

// usedDay is a bar and a row of the table.
type usedDay struct {
	Name, Hours string
	By          string   // accounts with their hours
	Parts       []column // the largest account at the bottom
}

// shownAccounts is how many accounts have a pattern of their own. The page has one
// more, for all others.
const shownAccounts = 4

// newUsage draws the days; nil if there were no machines. Where Slurm hides jobs, it is
// hidden whose hours they were.
func newUsage(days []cost.DayUse, err error, private bool) *usage {
	if err != nil {
		return &usage{Error: err.Error()}
	}
	byName := make([]map[string]int64, len(days)) // seconds
	totals := map[string]int64{}
	most, all, idle, reused := int64(0), int64(0), int64(0), int64(0)
	for i, d := range days {
		byName[i] = map[string]int64{}
		sum := int64(0)
		for _, row := range d.Accounts {
			name := cmp.Or(view.Printable(row.Key), "(none)")
			if private {
				name = "all accounts"
			}
			byName[i][name] += row.All()
			totals[name] += row.All()
			sum += row.All()
			idle += row.Machine[cost.Idle]
		}
		reused += d.Reused
		most, all = max(most, sum), all+sum
	}
	if most == 0 {
		return nil
	}
	names := slices.SortedFunc(maps.Keys(totals), func(a, b string) int {
		return cmp.Or(cmp.Compare(totals[b], totals[a]), cmp.Compare(a, b))
	})
	u := &usage{Title: fmt.Sprintf("Machine hours in the last %d days", len(days)), Most: hours(most)}
	if len(names) > shownAccounts+1 {
		const others = "(others)"
		for _, seconds := range slices.Concat(byName, []map[string]int64{totals}) {
			for _, name := range names[shownAccounts:] {
				seconds[others] += seconds[name]
			}
		}
		names = append(names[:shownAccounts], others)
	}
	u.Desc = hours(all) + " in all: " + hoursOf(names, totals) + "."
	if idle+reused > 0 {
		u.Keep = fmt.Sprintf("Of these %s, machines were idle for %s, and jobs that they were not requested for used %s.", hours(all), hours(idle), hours(reused))
	}
	for i, name := range names {
		u.Keys = append(u.Keys, key{fmt.Sprintf("account-%d", i), name})
	}
	step := 100 / float64(len(days))
	for i, seconds := range byName {
		day := usedDay{Name: days[i].At.Format("Jan 2"), By: hoursOf(names, seconds)}
		x, top, sum := float64(i)*step, float64(plotTop+plotHeight), int64(0)
		for n, name := range names {
			if seconds[name] > 0 {
				height := plotHeight * float64(seconds[name]) / float64(most)
				top, sum = top-height, sum+seconds[name]
				bar := piece{X: percent(x), Width: percent(.8 * step), Kind: u.Keys[n].Kind}
				day.Parts = append(day.Parts, column{bar, pixels(top), pixels(height)})
			}
		}
		day.Hours = hours(sum)
		u.Days = append(u.Days, day)
	}
	last := len(days) - 1
	u.Ticks = []tick{
		{"0%", "start", u.Days[0].Name},
		{percent((float64(last/2) + .4) * step), "middle", u.Days[last/2].Name},
		{"100%", "end", u.Days[last].Name},
	}
	return u
}

// hoursOf are the hours of those that have any: "ml 8.0, physics 4.5".
func hoursOf(names []string, seconds map[string]int64) string {
	var parts []string
	for _, name := range names {
		if seconds[name] > 0 {
			parts = append(parts, name+" "+hours(seconds[name]))
		}
	}
	return strings.Join(parts, ", ")
}

// hours are seconds in hours, with a decimal.
func hours(seconds int64) string { return fmt.Sprintf("%.1f", float64(seconds)/3600) }

package web

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"slurmflex/flex/cost"
	ledger "slurmflex/flex/history"
	"slurmflex/flex/plan"
)

// used are four days, on the last two of which accounts used so many hours.
func used(before, last map[string]int64) []cost.DayUse {
	days := cost.NewDays(noon, 4)
	for back, hours := range []map[string]int64{last, before} {
		for account, n := range hours {
			from := ledger.At(noon.AddDate(0, 0, -back).Add(-12 * time.Hour))
			who := ledger.Who{Job: 812, Account: account}
			days.Take(&ledger.Entry{
				Count: int(n), From: from, To: from + 3600, Used: 3600, Who: who, Uses: []ledger.Use{{Who: who, From: from, To: from + 3600}},
			})
		}
	}
	return days.All()
}

func TestTheUsageOfDaysIsStackedByAccount(t *testing.T) {
	u := newUsage(used(map[string]int64{"ml": 8, "": 4}, map[string]int64{"ml": 6}), nil, false)
	assert.Equal(t, "Machine hours in the last 4 days", u.Title)
	assert.Equal(t, "12.0", u.Most)
	assert.Equal(t, "18.0 in all: ml 14.0, (none) 4.0.", u.Desc)
	assert.Equal(t, []key{{"account-0", "ml"}, {"account-1", "(none)"}}, u.Keys)
	require.Len(t, u.Days, 4)
	assert.Equal(t, usedDay{Name: "Nov 18", Hours: "0.0"}, u.Days[0])
	assert.Equal(t, "Nov 20", u.Days[2].Name)
	assert.Equal(t, "12.0", u.Days[2].Hours)
	assert.Equal(t, "ml 8.0, (none) 4.0", u.Days[2].By)
	var bars []string
	for _, p := range append(u.Days[2].Parts, u.Days[3].Parts...) {
		bars = append(bars, fmt.Sprintf("%s %s+%s %s+%s", p.Kind, p.X, p.Width, p.Y, p.Height))
	}
	assert.Equal(t, []string{"account-0 50.00%+20.00% 50.0+64.0", "account-1 50.00%+20.00% 18.0+32.0", "account-0 75.00%+20.00% 66.0+48.0"}, bars)
	assert.Equal(t, []tick{{"0%", "start", "Nov 18"}, {"35.00%", "middle", "Nov 19"}, {"100%", "end", "Nov 21"}}, u.Ticks)
	assert.Nil(t, newUsage(used(nil, nil), nil, false), "there were no machines")
}

func TestThePageSaysWhatKeepingMachinesCosts(t *testing.T) {
	days := cost.NewDays(noon, 4)
	ada, bob := ledger.Who{Job: 812}, ledger.Who{Job: 815}
	from := ledger.At(noon.Add(-12 * time.Hour))
	days.Take(&ledger.Entry{
		Count: 1, From: from, To: from + 4*3600, Used: 3 * 3600, Idle: 3600, Who: ada,
		Uses: []ledger.Use{{Who: ada, From: from, To: from + 3600}, {Who: bob, From: from + 2*3600, To: from + 4*3600}},
	})
	w := newWorld(t)
	w.pass("ada")
	w.Usage = func() ([]cost.DayUse, error) { return days.All(), nil }
	assert.Contains(t, w.get("/").Body.String(), "Of these 4.0, machines were idle for 1.0, and jobs that they were not requested for used 2.0.")
	w.Usage = func() ([]cost.DayUse, error) { return used(map[string]int64{"ml": 8}, nil), nil }
	assert.NotContains(t, w.get("/").Body.String(), "Of these 8.0")
}

func TestSmallAccountsAreOneAndHiddenOnesToo(t *testing.T) {
	many := map[string]int64{"a": 9, "b": 8, "c": 7, "d": 6, "e": 2, "f": 1}
	u := newUsage(used(nil, many), nil, false)
	assert.Equal(t, "a 9.0, b 8.0, c 7.0, d 6.0, (others) 3.0", u.Days[3].By)
	assert.Len(t, u.Keys, shownAccounts+1)
	delete(many, "f")
	assert.Equal(t, "a 9.0, b 8.0, c 7.0, d 6.0, e 2.0", newUsage(used(nil, many), nil, false).Days[3].By, "one has the room that others would have")
	assert.Equal(t, "all accounts 32.0", newUsage(used(nil, many), nil, true).Days[3].By)
}

func TestThePageHasTheUsageOfTheLastDays(t *testing.T) {
	w := newWorld(t)
	w.pass("ada")
	assert.NotContains(t, w.get("/").Body.String(), "usage-title")
	var err error
	w.Usage = func() ([]cost.DayUse, error) { return used(map[string]int64{"<ml>": 8}, nil), err }
	page := w.get("/").Body.String()
	assert.Contains(t, page, `<title id="usage-title">Machine hours in the last 4 days by account</title><desc id="usage-desc">8.0 in all: &lt;ml&gt; 8.0.</desc>`)
	assert.Contains(t, page, `<tr><td>Nov 20</td><td>8.0</td><td>&lt;ml&gt; 8.0</td></tr>`)
	assert.Contains(t, page, `fill="url(#p-account-0)"`)
	for i := range shownAccounts + 1 {
		assert.Equal(t, 1, strings.Count(page, fmt.Sprintf(`<pattern id="p-account-%d"`, i)))
	}
	w.Board.Saw(plan.Snapshot{Now: w.now, Private: true}, plan.Plan{})
	assert.NotContains(t, w.get("/").Body.String(), "&lt;ml", "Slurm hides whose jobs there are")
	err = errors.New("read the history: permission denied")
	assert.Contains(t, w.get("/").Body.String(), "Machine hours by day are unknown: read the history: permission denied")
}

package monthly

import (
	"encoding/xml"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"slurmflex/flex/cost"
	"slurmflex/flex/history"
)

var november = time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)

// month has one used lease of the 3rd, a wasted one of somebody with a hostile name, and
// three waits of which two were granted.
func month(t *testing.T) Month {
	t.Helper()
	from := history.At(november.AddDate(0, 0, 2))
	used := history.Entry{
		NodeSet: "a3", Machine: "a3-highgpu-8g", Count: 1, GPUs: 8, From: from, To: from + 7200, FlexStart: true, Booting: 360, Used: 6840,
		Who:  history.Who{Job: 812, User: "ada", Account: "ml"},
		Uses: []history.Use{{Who: history.Who{Job: 812, User: "ada", Account: "ml"}, From: from + 360, To: from + 7200}},
	}
	wasted := used
	wasted.Booting, wasted.Used, wasted.Wasted, wasted.Uses = 0, 0, 7200, nil
	wasted.Who = history.Who{Job: 813, User: "<script>alert(1)</script>", Account: "ml"}
	prices, err := cost.ParsePrices([]byte("currency: USD\ndate: 2026-11-01\nmachines: {a3-highgpu-8g: {flex: 40, on_demand: 80}}\n"))
	require.NoError(t, err)
	to := history.At(november.AddDate(0, 1, 0))
	bill := func(by cost.By) cost.Report {
		b := cost.NewBill(by, history.At(november), to, time.UTC)
		b.Take(&used)
		b.Take(&wasted)
		return b.Report("alpha", prices)
	}
	waits := NewWaits(history.At(november), to)
	for i, took := range []history.Time{600, 7200, 9000} {
		e := history.Entry{NodeSet: "a3", From: from, To: from + took, End: history.Granted}
		if i == 2 {
			e.End = history.Withdrawn
		}
		waits.Take(&e)
	}
	waits.Take(&history.Entry{NodeSet: "a3", From: to, To: to + 60, End: history.Granted})
	return Month{
		First: november, At: november.AddDate(0, 1, 0), Waits: waits.All(),
		Days: bill(cost.Day), Accounts: bill(cost.Account), Users: bill(cost.User), NodeSets: bill(cost.NodeSet),
	}
}

func TestThePageHasTheMonthsUseWasteWaitsAndMoney(t *testing.T) {
	var page strings.Builder
	require.NoError(t, Write(&page, month(t)))
	for _, part := range []string{
		"<title>alpha: flex-start machines, November 2026</title>",
		"<b>4.0</b> machine hours", "<b>32.0</b> GPU hours", "<b>48 %</b> used by jobs", "<b>50 %</b> wasted", "<b>160.00</b> USD",
		"<title>Nov 3: 4.0 machine hours, 1.9 used, 0.1 booting, 2.0 wasted</title>",
		"<tr><td>a3</td><td>3</td><td>2</td><td>1</td><td>2h00m</td><td>–</td></tr>",
		"<tr><td>ada</td><td>1.9</td><td>0.1</td><td>0.0</td><td>0.0</td><td>2.0</td><td>16.0</td><td>80.00</td></tr>",
		"cost 320.00 at on-demand prices",
	} {
		assert.Contains(t, page.String(), part)
	}
	assert.NotContains(t, page.String(), "<script")
	assert.NotRegexp(t, `(src|href|url\()=?`, page.String(), "it loads nothing")
}

func TestAMonthWithoutHistoryIsAPageToo(t *testing.T) {
	var page strings.Builder
	empty := cost.NewBill(cost.Day, 0, 0, time.UTC).Report("alpha", nil)
	require.NoError(t, Write(&page, Month{First: november, At: november, Days: empty, Accounts: empty, Users: empty, NodeSets: empty}))
	assert.Contains(t, page.String(), "No requests were made.")
	assert.Equal(t, 30, strings.Count(page.String(), ": 0.0 machine hours"))
}

func TestTheDrawingIsWellFormed(t *testing.T) {
	var page strings.Builder
	require.NoError(t, Write(&page, month(t)))
	text := page.String()
	drawing := xml.NewDecoder(strings.NewReader(text[strings.Index(text, "<svg"):strings.Index(text, "</svg>")] + "</svg>"))
	for {
		if _, err := drawing.Token(); err != nil {
			assert.ErrorIs(t, err, io.EOF)
			return
		}
	}
}

func TestTheScaleEndsAtAFullStep(t *testing.T) {
	for most, want := range map[float64]float64{0: 1, 1: 1, 1.1: 2, 4: 5, 50: 50, 51: 100, 1200: 2000} {
		assert.InDelta(t, want, stepUp(most), 0)
	}
}

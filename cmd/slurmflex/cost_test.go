package main

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"slurmflex/flex/cost"
	"slurmflex/flex/history"
)

// adasStory is the line of ada's job.
var adasStory = json.RawMessage(`{"v":1,"kind":"job","id":"job-812@1793713440","job":{"job":812,"user":"ada","partition":"train","state":"RUNNING","nodes":""},` +
	`"ended_at":"2026-11-03T13:54:00Z","events":[{"at":"2026-11-03T12:00:00Z","event":"machines created","text":"1 of 1 node"},` +
	`{"at":"2026-11-03T12:06:00Z","event":"running","text":"on alpha-a3-0","machines":[{"count":1,"machine_type":"a3-highgpu-8g"}]},` +
	`{"at":"2026-11-03T13:54:00Z","event":"ended"}]}`)

// leases writes a history of two leases, ada's, which was used, and bob's, which was not, and the story of
// ada's job.
func (w *world) leases() {
	w.Helper()
	require.NoError(w, os.MkdirAll(w.path("history"), 0o755))
	from := history.At(time.Date(2026, 11, 3, 12, 0, 0, 0, time.Local))
	ada := history.Who{Job: 812, User: "ada", Account: "ml", Partition: "train"}
	lease := history.Entry{
		Version: history.Version, Kind: history.Lease, ID: "1", NodeSet: "a3", Machine: "a3-highgpu-8g", Region: "us-central1", Node: "alpha-a3-0",
		Count: 1, GPUs: 8, From: from, To: from + 7200, Who: ada, FlexStart: true, Booting: 360,
		Uses: []history.Use{{Who: ada, From: from + 360, To: from + 6840}},
	}
	unused := lease
	unused.ID, unused.Who, unused.Uses = "2", history.Who{Job: 813, User: "bob"}, nil
	require.NoError(w, history.Append(w.path("history"), "alpha", false, []any{lease, unused, adasStory}))
	w.write("prices.yaml", "currency: USD\ndate: 2026-11-01\nmachines: {a3-highgpu-8g: {flex: 40, on_demand: 80}}\n")
}

func TestPricesAreReadFromTheConfigurationsFolder(t *testing.T) {
	w := newWorld(t)
	w.leases()
	assert.Contains(t, w.prints("cost"), "prices of 2026-11-01\n")
	w.remove("prices.yaml")
	assert.NotContains(t, w.prints("cost"), "prices of")
}

func TestBillCoversTheRequestedTime(t *testing.T) {
	w := newWorld(t)
	w.leases()
	assert.Equal(t, `account  machine h  GPU h     USD
(none)         2.0   16.0   80.00
ml             2.0   16.0   80.00
total          4.0   32.0  160.00
prices of 2026-11-01
`, w.prints("cost", "--month", "2026-11", "--prices", w.path("prices.yaml")))

	var r cost.Report
	w.runs("cost", "--by=user", "--from=2026-11-03T13:00", "--to=2026-11-04", "--json").decodes(&r)
	assert.Equal(t, []cost.Line{{Key: "ada", Machine: 3600, GPU: 28800, Cost: "40.00"}, {Key: "bob", Machine: 3600, GPU: 28800, Cost: "40.00"}}, r.Rows)
}

// D9: if Slurm does not check accounts, users choose them freely.
func TestHostileAccountNamesAreClipped(t *testing.T) {
	w := newWorld(t)
	w.leases()
	from := history.At(time.Date(2026, 11, 3, 12, 0, 0, 0, time.Local))
	for _, account := range []string{"\r\n@x", "red\x1b[31m\x9b2J", strings.Repeat("x", 900)} {
		require.NoError(t, history.Append(w.path("history"), "alpha", false, []history.Entry{{
			Version: history.Version, Kind: history.Lease, ID: account, NodeSet: "a3", Machine: "a3-highgpu-8g", Node: "alpha-a3-0",
			Count: 1, From: from, To: from + 60, Who: history.Who{Job: 9, User: "eve", Account: account},
		}}))
	}
	table := w.prints("cost")
	assert.NotRegexp(t, `[[:cntrl:]]`, strings.ReplaceAll(table, "\n", ""))
	for line := range strings.Lines(table) {
		assert.LessOrEqual(t, len([]rune(line)), 140)
	}
}

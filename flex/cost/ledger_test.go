package cost

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"slurmflex/config"
	"slurmflex/flex/history"
	"slurmflex/flex/plan/scene"
	"slurmflex/test/scenetest"
)

// saturday is noon in Berlin on a day of a week that began in the same month.
var berlin = time.FixedZone("CET", 3600)

var saturday = time.Date(2026, 11, 21, 12, 0, 0, 0, berlin)

// house is a cluster with a history, prices, and limits of each kind.
type house struct {
	*testing.T
	dir  string
	cfg  *config.Config
	snap scene.Snapshot
}

func newHouse(t *testing.T, limits string) *house {
	t.Helper()
	h := &house{T: t, dir: t.TempDir()}
	h.cfg = scenetest.Cluster("partitions:\n  train: {enable_job_exclusive: true, partition_nodeset: [a3]}\nslurmflex: {limits: "+limits+"}",
		scenetest.FlexSet("a3", "us-central1-a", "node_count_dynamic_max: 8", ""))
	h.snap.Now = saturday
	h.snap.Templates = map[string]scene.Template{h.cfg.FlexSetOf("alpha-a3-0").Template: scenetest.FlexTemplate("a3-highgpu-8g")}
	h.prices("machines: {a3-highgpu-8g: {flex: 40.00}}")
	return h
}

func (h *house) prices(text string) {
	h.Helper()
	require.NoError(h, os.WriteFile(filepath.Join(h.dir, "prices.yaml"), []byte("currency: USD\n"+text+"\n"), 0o644))
}

// lease adds the lease of a machine with 8 GPUs, from then on for an hour.
func (h *house) lease(from time.Time, who history.Who) {
	h.Helper()
	e := history.Entry{
		Version: history.Version, Kind: history.Lease, ID: fmt.Sprintf("us-central1-a/alpha-a3-0@%d", from.Unix()), NodeSet: "a3", Region: "us-central1",
		Zone: "us-central1-a", Node: "alpha-a3-0", Machine: "a3-highgpu-8g", Count: 1, GPUs: 8, FlexStart: true, From: history.At(from), To: history.At(from.Add(time.Hour)), Who: who,
	}
	require.NoError(h, history.Append(h.dir, "alpha", false, []history.Entry{e}))
}

// ledger returns the ledger of a new process.
func (h *house) ledger() *Ledger {
	return &Ledger{Dir: h.dir, Cluster: "alpha", Prices: filepath.Join(h.dir, "prices.yaml"), Zone: berlin, Kept: func() error { return nil }}
}

func (h *house) spent(l *Ledger) scene.Spent {
	h.Helper()
	return l.Spent(h.Context(), &h.snap, h.cfg)
}

var adaOfBio = history.Who{Job: 1, User: "ada", Account: "bio", Partition: "train"}

func TestLimitsCountTheLeasesOfTheirPeriodAndHolder(t *testing.T) {
	h := newHouse(t, "{bio: {account: bio, gpu_hours: 1, cost: 1}, ada: {user: ada, gpu_hours: 1, per: day}, train: {partition: train, gpu_hours: 1, per: week}, all: {gpu_hours: 1}}")
	eve := history.Who{Job: 2, User: "eve", Account: "chem", Partition: "dev"}
	for _, from := range []time.Time{
		saturday.Add(-time.Hour), time.Date(2026, 11, 16, 0, 0, 0, 0, berlin), time.Date(2026, 11, 1, 0, 0, 0, 0, berlin),
		time.Date(2026, 10, 31, 23, 30, 0, 0, berlin), // half of it in November
	} {
		h.lease(from, adaOfBio)
	}
	h.lease(saturday.Add(-3*time.Hour), eve)
	l := h.ledger()
	spent := h.spent(l)
	require.NoError(t, spent.Err)
	assert.Equal(t, "USD", spent.Currency)
	assert.Equal(t, scene.Amount{GPU: 8 * 3600, Cost: 40}, spent.Hours["a3"])
	used := func(i int) float64 { return spent.Of[i].Used.GPU / 3600 / 8 }
	assert.InDelta(t, 3.5, used(0), 1e-9, "the account's month")
	assert.InDelta(t, 140, spent.Of[0].Used.Cost, 1e-9)
	assert.InDelta(t, 1, used(1), 1e-9, "the user's day")
	assert.InDelta(t, 2, used(2), 1e-9, "the partition's week, from Monday on")
	assert.InDelta(t, 4.5, used(3), 1e-9, "the cluster's month")
	assert.Equal(t, time.Date(2026, 11, 16, 0, 0, 0, 0, berlin), spent.Of[2].From)
	assert.Equal(t, time.Date(2026, 12, 1, 0, 0, 0, 0, berlin), spent.Of[3].To)
	h.snap.Now = time.Date(2026, 11, 22, 0, 0, 0, 0, berlin)
	assert.Zero(t, h.spent(l).Of[1].Used, "the next day")
}

// The daemon of the other controller reads what this one has recorded in a shared folder.
func TestDaemonThatTakesOverCountsWhatTheOtherSpent(t *testing.T) {
	h := newHouse(t, "{bio: {account: bio, gpu_hours: 1}}")
	first, second := h.ledger(), h.ledger()
	assert.Zero(t, h.spent(second).Of[0].Used)
	h.lease(saturday, adaOfBio)
	h.snap.Now = saturday.Add(2 * time.Hour) // a reading from before the standby does not count
	assert.InDelta(t, 8*3600, h.spent(first).Of[0].Used.GPU, 1e-9)
	assert.InDelta(t, 8*3600, h.spent(second).Of[0].Used.GPU, 1e-9)
}

func TestUnknownAmountIsAnError(t *testing.T) {
	const gpus, money = "{bio: {account: bio, gpu_hours: 1}}", "{bio: {account: bio, cost: 1}}"
	for name, test := range map[string]struct {
		limits string
		given  func(*house, *Ledger)
		want   string
	}{
		"no folder":               {gpus, func(_ *house, l *Ledger) { l.Dir = "/nowhere" }, "stat /nowhere: no such file or directory"},
		"the history is not kept": {gpus, func(_ *house, l *Ledger) { l.Kept = func() error { return errors.New("disk full") } }, "the history is not kept: disk full"},
		"nor without limits":      {"{}", func(_ *house, l *Ledger) { l.Kept = func() error { return errors.New("disk full") } }, "the history is not kept: disk full"},
		"no prices":               {money, func(_ *house, l *Ledger) { l.Prices = "/nowhere" }, "a limit has a cost, and there is no prices.yaml"},
		"bad prices":              {money, func(h *house, _ *Ledger) { h.prices("machines: {a3-highgpu-8g: {flex: cheap}}") }, `line 2: flex of a3-highgpu-8g: "cheap" is not an amount`},
		"a price is missing":      {money, func(h *house, _ *Ledger) { h.prices("machines: {a3-highgpu-8g: {spot: 1}}") }, "a limit has a cost, and prices.yaml lacks the flex price of a3-highgpu-8g"},
	} {
		h := newHouse(t, test.limits)
		l := h.ledger()
		test.given(h, l)
		spent := h.spent(l)
		assert.ErrorContains(t, spent.Err, test.want, name)
		assert.Empty(t, spent.Of)
	}
	h := newHouse(t, gpus)
	h.prices("machines: {a3-highgpu-8g: {spot: 1}}")
	assert.NoError(t, h.spent(h.ledger()).Err, "limits on GPU hours need no prices")
}

func TestOngoingLeaseIsCountedUpToTheLastLook(t *testing.T) {
	h := newHouse(t, "{all: {gpu_hours: 1}}")
	made := saturday.Add(-2 * time.Hour)
	open := fmt.Sprintf(`{"v":1,"looked":{"us-central1":%q},"waits":[],"leases":[{"v":1,"kind":"lease","id":"us-central1-a/alpha-a3-0@%d+1","nodeset":"a3","machine_type":"a3-highgpu-8g",
		"region":"us-central1","zone":"us-central1-a","node":"alpha-a3-0","count":1,"gpus":8,"from":%q,"to":%q,"made":%q}]}`,
		saturday.Add(-time.Hour).Format(time.RFC3339), made.Unix(), made.Format(time.RFC3339), made.Format(time.RFC3339), made.Format(time.RFC3339))
	require.NoError(t, os.WriteFile(filepath.Join(h.dir, "open-alpha.json"), []byte(open), 0o644))
	spent := h.spent(h.ledger())
	require.NoError(t, spent.Err)
	assert.InDelta(t, 8*3600, spent.Of[0].Used.GPU, 1e-9)
	assert.Equal(t, map[string]time.Time{scene.LeaseOf("us-central1-a", "alpha-a3-0", made): saturday.Add(-time.Hour).UTC()}, spent.Counted)
}

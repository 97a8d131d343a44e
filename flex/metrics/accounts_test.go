package metrics

import (
	"fmt"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"slurmflex/flex/history"
)

const byAccount = "slurmflex_account_machine_seconds_total"

// lease returns a lease of a machine that was obtained for a job of the account: 100 s of boot,
// 300 s with that job, 200 s with a job of biology, and 50 s without any job.
func lease(account string) *history.Entry {
	who := history.Who{Job: 1, Account: account}
	return &history.Entry{
		Version: history.Version, Kind: history.Lease, ID: account, Count: 1, From: 1000, To: 1650, Who: who,
		Booting: 100,
		Uses:    []history.Use{{Who: who, From: 1100, To: 1400}, {Who: history.Who{Job: 2, Account: "biology"}, From: 1400, To: 1600}},
	}
}

func (w *world) accountSeconds(account string) float64 {
	return testutil.ToFloat64(w.accounts.seconds.WithLabelValues(account))
}

func TestAccountTimeIsCountedAtTheEndOfALease(t *testing.T) {
	w := newWorld(t)
	w.Leased(lease("physics"), false)
	assert.Equal(t, 2, testutil.CollectAndCount(w.accounts.seconds), "the counters of both accounts are there before they count")
	assert.Zero(t, w.accountSeconds("physics"))
	w.Leased(lease("physics"), true)
	assert.InDelta(t, 400, w.accountSeconds("physics"), 0)
	assert.InDelta(t, 250, w.accountSeconds("biology"), 0)
	w.Leased(lease("physics"), true)
	assert.InDelta(t, 800, w.accountSeconds("physics"), 0)
	w.Leased(lease(""), true)
	assert.InDelta(t, 400, w.accountSeconds("(none)"), 0)
}

func TestAccountMetricsAreOffByDefault(t *testing.T) {
	w := newWorld(t)
	w.Config.Options.MetricsByAccount = false
	w.Leased(lease("physics"), true)
	assert.Zero(t, testutil.CollectAndCount(w.accounts.seconds))
}

func TestFurtherAccountsShareOneLabel(t *testing.T) {
	w := newWorld(t)
	for i := range 250 {
		w.Leased(lease(fmt.Sprintf("a%d", i)), true)
	}
	assert.Equal(t, 101, testutil.CollectAndCount(w.accounts.seconds))
	assert.InDelta(t, 400, w.accountSeconds("a98"), 0)
	assert.InDelta(t, 151*400, w.accountSeconds("(other)"), 0, "biology was second")
	w.Leased(lease("a98"), true)
	assert.InDelta(t, 800, w.accountSeconds("a98"), 0, "existing counters are kept")
}

// D9: a user who invents accounts must not use up the names.
func TestLargestAccountsKeepTheirCounters(t *testing.T) {
	w := newWorld(t)
	junk := func(i int) *history.Entry {
		return &history.Entry{Version: history.Version, Kind: history.Lease, Count: 1, From: 1000, To: 1001, Who: history.Who{Job: 1, Account: fmt.Sprintf("junk%d", i)}}
	}
	for i := range 150 {
		w.Leased(junk(i), false)
		w.Leased(junk(i), true)
	}
	w.Leased(lease("physics"), true)
	assert.InDelta(t, 50+650, w.accountSeconds("(other)"), 0, "its first lease")
	assert.Equal(t, 101, testutil.CollectAndCount(w.accounts.seconds))
	w.Leased(lease("physics"), true)
	assert.InDelta(t, 400, w.accountSeconds("physics"), 0)
	assert.InDelta(t, 250, w.accountSeconds("biology"), 0, "biology had two users")
	assert.Equal(t, 101, testutil.CollectAndCount(w.accounts.seconds))
	for i := range 150 {
		w.Leased(junk(i), true)
	}
	assert.InDelta(t, 400, w.accountSeconds("physics"), 0)
	w.Leased(lease("(other)"), true)
	assert.Equal(t, 101, testutil.CollectAndCount(w.accounts.seconds))
	assert.Len(t, w.accounts.begun, 101)
}

func TestTallyOfAccountsIsBounded(t *testing.T) {
	w := newWorld(t)
	for i := range 2*maxTallied + 10 {
		w.Leased(lease(fmt.Sprintf("junk%d", i)), true)
	}
	assert.LessOrEqual(t, len(w.accounts.tally), maxTallied+1)
}

func TestAccountNamesDoNotBreakTheExposition(t *testing.T) {
	w := newWorld(t)
	for _, name := range []string{"a\"} 1\nevil_total 7\n", "\xff\xfe", "\x00\x1b[2J", strings.Repeat("ü", 500), `\`} {
		w.Leased(lease(name), true)
	}
	problems, err := testutil.GatherAndLint(w.registry, byAccount)
	require.NoError(t, err)
	assert.Empty(t, problems)
	families, err := w.registry.Gather()
	require.NoError(t, err)
	for _, f := range families {
		assert.NotEqual(t, "evil_total", f.GetName())
		for _, m := range f.GetMetric() {
			for _, l := range m.GetLabel() {
				assert.LessOrEqual(t, len([]rune(l.GetValue())), 64)
				assert.NotContains(t, l.GetValue(), "\n")
			}
		}
	}
}

package metrics

import (
	"cmp"
	"maps"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"slurmflex/flex/cost"
	"slurmflex/flex/history"
	"slurmflex/flex/view"
)

const (
	maxAccounts  = 100    // accounts with their own counters
	maxTallied   = 10_000 // accounts with known seconds
	moreAccounts = "(other)"
)

// accounts counts machine time by account, with the rules of slurmflex cost.
type accounts struct {
	seconds *prometheus.CounterVec // by account
	begun   map[string]bool        // the accounts with counters
	tally   map[string]float64     // machine seconds since the process started, by account
}

func newAccounts(f promauto.Factory) accounts {
	return accounts{
		seconds: f.NewCounterVec(prometheus.CounterOpts{
			Name: "slurmflex_account_machine_seconds_total",
			Help: "Machine-seconds of ended leases, by account; (none) without one, (other) for all but the 100 that use most; only with metrics_by_account.",
		}, []string{"account"}),
		begun: map[string]bool{}, tally: map[string]float64{},
	}
}

// label returns the account's name as a label. It creates counters before they count, because
// Prometheus only sees an increase of a counter that already exists.
func (a *accounts) label(account string) string {
	name := view.Name(account)
	if !a.begun[name] && len(a.begun) >= maxAccounts {
		name = moreAccounts
	}
	a.begin(name)
	return name
}

func (a *accounts) begin(name string) {
	if a.begun[name] {
		return
	}
	a.begun[name] = true
	a.seconds.WithLabelValues(name)
}

// count adds to an account's counters. An account that has used more than the smallest account with
// counters replaces that account, from the next lease on.
func (a *accounts) count(row cost.Row) {
	label, name := a.label(row.Key), view.Name(row.Key)
	a.seconds.WithLabelValues(label).Add(row.Machine)
	a.tally[name] += row.Machine
	if label != moreAccounts || name == moreAccounts {
		return
	}
	least, first := "", true
	for shown := range a.begun {
		if shown != moreAccounts && (first || cmp.Or(cmp.Compare(a.tally[shown], a.tally[least]), cmp.Compare(shown, least)) < 0) {
			least, first = shown, false
		}
	}
	if a.tally[name] > a.tally[least] {
		delete(a.begun, least)
		a.seconds.DeleteLabelValues(least)
		a.begin(name)
	}
	if len(a.tally) > maxTallied { // users may invent accounts
		maps.DeleteFunc(a.tally, func(name string, _ float64) bool { return !a.begun[name] })
	}
}

// Leased records a lease of the history that is ongoing or has ended. It may run concurrently with
// all other methods.
func (m *Metrics) Leased(e *history.Entry, ended bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.events.enterRace(e, ended)
	if ended {
		m.events.enterCheck(e)
	}
	if !m.cfg.Options.MetricsByAccount {
		return
	}
	m.accounts.label(e.Account)
	for i := range e.Uses {
		m.accounts.label(e.Uses[i].Account)
	}
	if !ended {
		return
	}
	bill := cost.NewBill(cost.Account, 0, 0, time.UTC)
	bill.Take(e)
	for _, row := range bill.Rows() {
		m.accounts.count(row)
	}
}

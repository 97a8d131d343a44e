package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"slurmflex/flex/cost"
	"slurmflex/flex/history"
	"slurmflex/flex/view"
)

const (
	maxAccounts  = 100 // that have counters of their own in a process
	nameLimit    = 64  // characters of an account's name
	noAccount    = "(none)"
	moreAccounts = "(other)"
)

// accounts counts machine time by account, by the rules of slurmflex cost.
type accounts struct {
	seconds *prometheus.CounterVec // by account and use
	begun   map[string]bool        // the accounts that have counters
}

func newAccounts(f promauto.Factory) accounts {
	return accounts{
		seconds: f.NewCounterVec(prometheus.CounterOpts{
			Name: "slurmflex_account_machine_seconds_total",
			Help: "Machine-seconds of leases that have ended, by account as in slurmflex cost; only with metrics_by_account.",
		}, []string{"account", "use"}),
		begun: map[string]bool{},
	}
}

// uses are the values of the label, by purpose.
func uses() map[cost.Purpose]string {
	return map[cost.Purpose]string{cost.Used: used, cost.Booting: "booting", cost.Idle: idle, cost.Wasted: "wasted"}
}

// label is the account's name as a label. The first accounts have their own, and have
// their counters from then on: an increase is seen only of a counter that is there.
func (a *accounts) label(account string) string {
	name := view.Clip(view.Printable(account), nameLimit)
	if account == "" {
		name = noAccount
	}
	if !a.begun[name] && len(a.begun) >= maxAccounts {
		name = moreAccounts
	}
	if !a.begun[name] {
		a.begun[name] = true
		for _, use := range uses() {
			a.seconds.WithLabelValues(name, use)
		}
	}
	return name
}

// Leased takes over a lease that goes on or has ended, as the history has it. It may be
// called beside all other methods.
func (m *Metrics) Leased(e *history.Entry, ended bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
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
		account := m.accounts.label(row.Key)
		for purpose, use := range uses() {
			m.accounts.seconds.WithLabelValues(account, use).Add(float64(row.Machine[purpose]))
		}
	}
}

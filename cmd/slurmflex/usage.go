package main

import (
	"sync"
	"time"

	"slurmflex/config"
	"slurmflex/flex/cost"
	"slurmflex/flex/history"
)

const (
	usageDays = 14
	usageAge  = 5 * time.Minute // how old what the page shows of them may be
)

// usage is what accounts used in the last days, by the history, of which it reads
// only the end. It is read for people who look, one at a time, and never in a pass.
type usage struct {
	dir, cluster string
	now          func() time.Time

	mu   sync.Mutex
	read time.Time // zero: never
	last []cost.DayUse
	err  error
}

func newUsage(cfg *config.Config) *usage {
	return &usage{dir: cfg.Options.StateDir, cluster: cfg.Cluster, now: time.Now}
}

// days are the last days, in the host's zone.
func (u *usage) days() ([]cost.DayUse, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if now := u.now(); u.read.IsZero() || now.Sub(u.read) > usageAge {
		days := cost.NewDays(now, usageDays)
		_, u.err = history.ReadSince(u.dir, u.cluster, history.Lease, days.From(), days.Take)
		u.read, u.last = now, days.All()
	}
	return u.last, u.err
}

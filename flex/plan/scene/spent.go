package scene

import (
	"fmt"
	"time"

	"slurmflex/config"
)

// Amount is what machines take: GPU seconds, and money in the currency of the price file.
type Amount struct{ GPU, Cost float64 }

// Spent is what the history shows of the present periods of the limits.
type Spent struct {
	Of    []Spending        // by the order of the limits in the configuration
	Hours map[string]Amount // by nodeset: what a machine takes in an hour
	// Counted holds up to when the history has counted each lease that has not ended, by LeaseOf.
	Counted  map[string]time.Time
	Currency string
	Err      error // why the history or the prices could not be read; nothing else is set then
}

// Spending is what the machines of a limit took in a period.
type Spending struct {
	From, To time.Time // the period, in local time
	Used     Amount
}

// LeaseOf identifies the lease of an instance, because a name may be reused.
func LeaseOf(zone, name string, made time.Time) string {
	return fmt.Sprintf("%s/%s@%d", zone, name, made.Unix())
}

// PeriodName names the period of a limit for people.
func (s Spending) PeriodName(per config.Period) string {
	switch per {
	case config.Day:
		return s.From.Format("January 2")
	case config.Week:
		return "the week from " + s.From.Format("January 2")
	}
	return s.From.Format("January")
}

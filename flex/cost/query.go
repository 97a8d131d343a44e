package cost

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"slurmflex/config"
	"slurmflex/flex/history"
)

// Query says what is billed, in the words of the command's flags.
type Query struct {
	By       string
	Month    string
	From, To string
}

// Report reads the leases of the cluster's history and returns the bill with its prices; nil for none.
func (q Query) Report(cfg *config.Config, prices *Prices) (Report, error) {
	from, to, err := q.period()
	switch {
	case !slices.Contains(ways(), By(q.By)):
		return Report{}, config.Misusef("--by %s: choose account, user, partition, nodeset, job or day", q.By)
	case err != nil:
		return Report{}, config.Misuse(err)
	}
	b := newBill(By(q.By), from, to, time.Local)
	tally, err := history.ReadForCommand(cfg.Options.StateDir, cfg.Cluster, history.Lease, b.take)
	report := b.report(cfg.Cluster, prices)
	report.Bad = tally.Bad
	return report, err
}

// period returns the time that is billed: a month, or the time from one moment to another, all
// local. 0 is no bound.
func (q Query) period() (from, to history.Time, err error) {
	if q.Month != "" {
		if q.From != "" || q.To != "" {
			return 0, 0, errors.New("--month cannot be combined with --from or --to")
		}
		month, err := time.Parse("2006-01", q.Month)
		if err != nil {
			return 0, 0, fmt.Errorf("--month %s: must be a month, such as 2026-11", q.Month)
		}
		first, next := periodOf(config.Month, time.Date(month.Year(), month.Month(), 15, 0, 0, 0, 0, time.Local), time.Local)
		return history.At(first), history.At(next), nil
	}
	if from, err = Moment("--from", q.From); err != nil {
		return 0, 0, err
	}
	if to, err = Moment("--to", q.To); err != nil {
		return 0, 0, err
	}
	if from != 0 && to != 0 && to <= from {
		return 0, 0, fmt.Errorf("--to %s is not after --from %s", q.To, q.From)
	}
	return from, to, nil
}

// Moment reads a flag's local time; 0 if none is given.
func Moment(flag, text string) (history.Time, error) {
	if text == "" {
		return 0, nil
	}
	if at, err := time.Parse(time.DateOnly, text); err == nil {
		return history.At(startOf(at.Year(), at.Month(), at.Day(), time.Local)), nil
	}
	for _, form := range []string{"2006-01-02T15:04:05", "2006-01-02T15:04"} {
		if at, err := time.ParseInLocation(form, text, time.Local); err == nil {
			return history.At(at), nil
		}
	}
	return 0, fmt.Errorf("%s %s: must be a day or a time, such as 2026-11-01 or 2026-11-01T12:00:00", flag, text)
}

package cost

import (
	"time"

	"slurmflex/flex/history"
)

// DayUse is what accounts used on a day.
type DayUse struct {
	At       time.Time // its midnight
	Accounts []Row     // the largest first
	Reused   int64     // machine seconds of jobs that the machines were not requested for
}

// Days are bills by account for some days.
type Days struct {
	at    []time.Time // their midnights
	bills []*Bill
}

// NewDays are bills for so many days, the last of which is that of now, in its zone.
func NewDays(now time.Time, days int) *Days {
	d := &Days{}
	for i := range days {
		midnight := func(day int) time.Time { return time.Date(now.Year(), now.Month(), day, 0, 0, 0, 0, now.Location()) }
		at, next := midnight(now.Day()-days+1+i), midnight(now.Day()-days+2+i)
		d.at, d.bills = append(d.at, at), append(d.bills, NewBill(Account, history.At(at), history.At(next), now.Location()))
	}
	return d
}

// From is when the first of the days begins.
func (d *Days) From() history.Time { return history.At(d.at[0]) }

// Take adds the seconds of a lease to the days.
func (d *Days) Take(e *history.Entry) {
	for _, b := range d.bills {
		b.Take(e)
	}
}

// All are the days in their order.
func (d *Days) All() []DayUse {
	all := make([]DayUse, len(d.bills))
	for i, b := range d.bills {
		all[i] = DayUse{d.at[i], b.Rows(), b.reused}
	}
	return all
}

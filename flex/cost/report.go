package cost

import (
	"math"
	"strconv"

	"slurmflex/flex/history"
	"slurmflex/flex/view"
)

// Report is a bill for output.
type Report struct {
	view.Envelope
	Cluster  string       `json:"cluster"`
	By       By           `json:"by"`
	From     history.Time `json:"from,omitzero"`       // absent: from the first lease
	To       history.Time `json:"to,omitzero"`         // absent: to the last look
	Currency string       `json:"currency,omitempty"`  // of the price file
	Priced   string       `json:"prices_of,omitempty"` // date of the price file
	Rows     []Line       `json:"rows"`
	Total    Line         `json:"total"`                       // the sum of all rows
	RaceLost int64        `json:"race_lost_machine_seconds"`   // of machines for jobs that started in another nodeset
	Unpriced []string     `json:"machine_types_without_price"` // left out of the costs
	Ongoing  int          `json:"ongoing_leases"`              // counted up to the last look
	Bad      int          `json:"unread_lines"`                // of the history
}

// Line is a row of a report. Jobs on the same machine share its seconds equally. Costs are amounts with
// two decimals, absent without a price file. Each cost is rounded separately.
type Line struct {
	Key     string `json:"key"` // empty without a job, or if unknown
	Machine int64  `json:"machine_seconds"`
	GPU     int64  `json:"gpu_seconds"`
	Cost    string `json:"cost,omitempty"`            // with two decimals, rounded by itself
	Partial bool   `json:"cost_is_partial,omitempty"` // some of its machines lack a price
}

// report returns the bill with prices. prices may be nil.
func (b *bill) report(cluster string, prices *Prices) Report {
	r := Report{
		Envelope: view.EnvelopeOf("cost"), Cluster: cluster, By: b.by, From: b.from, Rows: []Line{},
		RaceLost: b.raceLost, Unpriced: []string{}, Ongoing: b.ongoing,
	}
	if b.to != never {
		r.To = b.to
	}
	for _, key := range b.keys() {
		r.Rows = append(r.Rows, line(key, b.rows[key], prices))
	}
	r.Total = line("", b.total, prices)
	if prices != nil {
		r.Currency, r.Priced = prices.Currency, prices.Date
		if _, unpriced := prices.of(b.total); unpriced != nil {
			r.Unpriced = unpriced
		}
	}
	return r
}

func line(key string, s sum, prices *Prices) Line {
	l := Line{Key: key, Machine: int64(math.Round(s.machine)), GPU: int64(math.Round(s.gpu))}
	if prices != nil {
		cost, unpriced := prices.of(s)
		l.Cost, l.Partial = text(cost), len(unpriced) > 0
	}
	return l
}

// text formats an amount with two decimals.
func text(amount float64) string { return strconv.FormatFloat(math.Round(amount*100)/100, 'f', 2, 64) }

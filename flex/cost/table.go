package cost

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"unicode/utf8"

	"slurmflex/flex/view"
)

// String formats the report for people, in hours with one decimal.
func (r Report) String() string {
	head := []string{string(r.By), "machine h", "GPU h"}
	if r.Currency != "" {
		head = append(head, r.Currency)
	}
	rows := [][]string{head}
	for _, l := range r.Rows {
		rows = append(rows, cells(named(l.Key), l))
	}
	rows = append(rows, cells("total", r.Total))
	keys := 0 // the width of their column, which is on the left
	for _, row := range rows {
		keys = max(keys, utf8.RuneCountInString(row[0]))
	}
	var b strings.Builder
	t := tabwriter.NewWriter(&b, 0, 0, 0, ' ', tabwriter.AlignRight)
	for _, row := range rows {
		fmt.Fprintf(t, "%-*s\t  %s\t\n", keys, row[0], strings.Join(row[1:], "\t  "))
	}
	t.Flush()
	r.writeNotes(&b)
	return b.String()
}

// cells returns a row of the table.
func cells(key string, l Line) []string {
	row := []string{key, hours(l.Machine), hours(l.GPU)}
	switch {
	case l.Partial:
		row = append(row, "≥ "+l.Cost)
	case l.Cost != "":
		row = append(row, l.Cost)
	}
	return row
}

// writeNotes explains the limits of the numbers.
func (r Report) writeNotes(b io.Writer) {
	if lost := hours(r.RaceLost); lost != "0.0" {
		share := 100 * float64(r.RaceLost) / float64(r.Total.Machine)
		fmt.Fprintf(b, "lost in races: %s machine hours (%.1f %%), for jobs that started in another nodeset\n", lost, share)
	}
	if r.Priced != "" {
		fmt.Fprintf(b, "prices of %s\n", r.Priced)
	}
	if len(r.Unpriced) > 0 {
		fmt.Fprintf(b, "without a price, and not in the cost: %s\n", strings.Join(r.Unpriced, ", "))
	}
	if r.Ongoing > 0 {
		fmt.Fprintf(b, "%s still running, counted up to now\n", view.Count(r.Ongoing, "lease"))
	}
	if r.Bad > 0 {
		fmt.Fprintf(b, "%s of the history could not be read\n", view.Count(r.Bad, "line"))
	}
}

// hours formats seconds as hours, rounded to a tenth.
func hours(seconds int64) string {
	return fmt.Sprintf("%.1f", float64((seconds+180)/360)/10)
}

// nameWidth is the maximum number of characters shown of a name that a user chose.
const nameWidth = 64

// named returns a name that a user chose, such as an account's, for printing: printable, clipped,
// and (none) if it is empty.
func named(name string) string {
	if name == "" {
		return "(none)"
	}
	return view.Clip(view.Printable(name), nameWidth)
}

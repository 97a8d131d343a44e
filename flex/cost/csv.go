package cost

import (
	"encoding/csv"
	"fmt"
	"io"
	"strconv"
	"strings"

	"slurmflex/flex/view"
)

// inCSV returns a row's key as a CSV cell. Users choose account names, and spreadsheets read a
// cell that starts with one of these characters as a formula. An apostrophe makes the cell text.
// In some countries spreadsheets also split a line at semicolons.
func inCSV(key string) string {
	if key == "" {
		return ""
	}
	key = strings.TrimSpace(strings.ReplaceAll(view.Name(key), ";", " "))
	if strings.ContainsAny(key[:min(1, len(key))], "=+-@") {
		return "'" + key
	}
	return key
}

// WriteCSV writes the rows without a total, because readers of CSV add the rows up.
func (r Report) WriteCSV(w io.Writer) error {
	c := csv.NewWriter(w)
	head := []string{string(r.By)}
	for _, unit := range []string{"machine", "gpu"} {
		for _, purpose := range []string{"used", "booting", "idle", "wasted"} {
			head = append(head, unit+"_seconds_"+purpose)
		}
	}
	if r.Currency != "" {
		head = append(head, "cost_"+r.Currency)
	}
	_ = c.Write(head)
	for _, l := range r.Rows {
		row := []string{inCSV(l.Key)}
		for _, s := range []Seconds{l.Machine, l.GPU} {
			for _, seconds := range []int64{s.Used, s.Booting, s.Idle, s.Wasted} {
				row = append(row, strconv.FormatInt(seconds, 10))
			}
		}
		if r.Currency != "" {
			row = append(row, l.Cost)
		}
		_ = c.Write(row)
	}
	if c.Flush(); c.Error() != nil {
		return fmt.Errorf("write CSV: %w", c.Error())
	}
	return nil
}

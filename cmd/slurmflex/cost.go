package main

import (
	"bufio"
	"cmp"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"slurmflex/flex/cost"
	"slurmflex/flex/history"
	"slurmflex/flex/view"
)

// pricesPath returns the price file that is used without --prices: prices.yaml in the
// configuration file's directory.
func (a *app) pricesPath() string { return filepath.Join(filepath.Dir(a.configPath), "prices.yaml") }

// billing is how the command cost was called.
type billing struct {
	month        string
	from, to, by string
	prices       string
	json, csv    bool
}

func newCost(a *app) *cobra.Command {
	b := billing{}
	cmd := &cobra.Command{
		Use: "cost", Short: "Show what machines were used for, and what that cost", GroupID: "ask", Args: noArguments,
		Long: `Show how many machine hours and GPU hours were used by jobs, spent booting, kept
idle and wasted (boots that failed, and machines of jobs whose other machines did
not come), by account, user, partition, nodeset, job or day. Overhead is charged
to the job that the machine was obtained for; jobs that share a machine share its
time evenly. Leases that have not ended count up to now.

With a price file the cost is shown too: prices.yaml in the directory of the
configuration file (usually /etc/slurmflex), or --prices FILE. The documentation has
an example. slurmflex looks up no prices; discounts, disks and networks are left out.

It reads the history in slurmflex.state_dir and asks Google nothing. Where Slurm
hides jobs from other users, it runs as SlurmUser.`,
		Example: `  slurmflex cost --month 2026-11 --by account
  slurmflex cost --by user
  slurmflex cost --by day --csv`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if b.json && b.csv {
				return usageError{errors.New("--json and --csv exclude each other; give one of them")}
			}
			report, err := b.report(a)
			document := bill{view.EnvelopeOf("cost"), report}
			switch {
			case err != nil:
				return err
			case b.csv:
				return writeCSV(cmd.OutOrStdout(), report)
			case b.json:
				return writeJSON(cmd.OutOrStdout(), document)
			}
			return document.writeTable(cmd.OutOrStdout())
		},
	}
	cmd.Flags().StringVar(&b.month, "month", "", "count this `month`: 2026-11; local time")
	cmd.Flags().StringVar(&b.from, "from", "", "count from this `time` on: 2026-11-01, or 2026-11-01T12:00:00; local time")
	cmd.Flags().StringVar(&b.to, "to", "", "count up to this `time`, which is not in it")
	cmd.Flags().StringVar(&b.by, "by", string(cost.Account), "a row for each `key`: account, user, partition, nodeset, job or day")
	cmd.Flags().StringVar(&b.prices, "prices", "", "the price `file`, instead of prices.yaml in the configuration file's directory")
	jsonFlag(cmd, &b.json)
	cmd.Flags().BoolVar(&b.csv, "csv", false, "write comma-separated values, in seconds")
	return cmd
}

// report makes the bill. A missing price file is an error only if --prices names it.
func (b billing) report(a *app) (cost.Report, error) {
	cfg, err := a.config()
	if err != nil {
		return cost.Report{}, err
	}
	if !slices.Contains(cost.Ways(), cost.By(b.by)) {
		return cost.Report{}, usageError{fmt.Errorf("--by %s: choose account, user, partition, nodeset, job or day", b.by)}
	}
	from, to, err := b.period()
	if err != nil {
		return cost.Report{}, err
	}
	prices, err := readPrices(cmp.Or(b.prices, a.pricesPath()), b.prices != "")
	if err != nil {
		return cost.Report{}, err
	}
	bill, ongoing := cost.NewBill(cost.By(b.by), from, to, time.Local), 0
	tally, err := history.Read(cfg.Options.StateDir, cfg.Cluster, history.Lease, func(e *history.Entry) {
		bill.Take(e)
		if e.Ongoing && (to == 0 || e.From < to) {
			ongoing++
		}
	})
	if err != nil {
		return cost.Report{}, whoMayRead(err)
	}
	if tally.Entries == 0 {
		return cost.Report{}, noHistory(cfg, tally)
	}
	report := bill.Report(cfg.Cluster, prices)
	report.Ongoing, report.Bad = ongoing, tally.Bad
	return report, nil
}

// period returns the time that is billed; 0 is no bound.
func (b billing) period() (from, to history.Time, err error) {
	if b.month != "" {
		if b.from != "" || b.to != "" {
			return 0, 0, usageError{errors.New("--month excludes --from and --to; give one of them")}
		}
		first, err := time.ParseInLocation("2006-01", b.month, time.Local)
		if err != nil {
			return 0, 0, usageError{fmt.Errorf("--month %s: must be a month, such as 2026-11", b.month)}
		}
		return history.At(first), history.At(first.AddDate(0, 1, 0)), nil
	}
	if from, err = moment("--from", b.from); err != nil {
		return 0, 0, err
	}
	if to, err = moment("--to", b.to); err != nil {
		return 0, 0, err
	}
	if from != 0 && to != 0 && to <= from {
		return 0, 0, usageError{fmt.Errorf("--to %s is not after --from %s", b.to, b.from)}
	}
	return from, to, nil
}

// moment reads a local time; 0 if none is given.
func moment(flag, text string) (history.Time, error) {
	if text == "" {
		return 0, nil
	}
	for _, form := range []string{time.DateOnly, "2006-01-02T15:04:05", "2006-01-02T15:04"} {
		if at, err := time.ParseInLocation(form, text, time.Local); err == nil {
			return history.At(at), nil
		}
	}
	return 0, usageError{fmt.Errorf("%s %s: give a day or a time, such as 2026-11-01 or 2026-11-01T12:00:00", flag, text)}
}

// readPrices reads the price file; nil if there is none and none was asked for.
func readPrices(path string, wanted bool) (*cost.Prices, error) {
	text, err := os.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist) && !wanted:
		return nil, nil
	case err != nil:
		return nil, usageError{fmt.Errorf("read prices: %w", err)}
	}
	prices, err := cost.ParsePrices(text)
	if err != nil {
		return nil, usageError{fmt.Errorf("%s: %w", path, err)}
	}
	return prices, nil
}

// bill is what the command prints.
type bill struct {
	view.Envelope
	cost.Report
}

// writeTable writes the bill for people: hours with one decimal.
func (r bill) writeTable(w io.Writer) error {
	head := []string{string(r.By), "used h", "booting h", "idle h", "wasted h", "machine h", "GPU h"}
	if r.Currency != "" {
		head = append(head, r.Currency)
	}
	rows := [][]string{head}
	for _, l := range r.Rows {
		rows = append(rows, cells(view.Name(l.Key), l))
	}
	rows = append(rows, cells("total", r.Total))
	widths := make([]int, len(head))
	for _, row := range rows {
		for column, cell := range row {
			widths[column] = max(widths[column], utf8.RuneCountInString(cell))
		}
	}
	b := bufio.NewWriter(w) // its errors are those of Flush
	blanks := strings.Repeat(" ", slices.Max(widths))
	line := func(cells []string) {
		for column, cell := range cells {
			blanks := blanks[:widths[column]-utf8.RuneCountInString(cell)]
			if column == 0 {
				cell, blanks = blanks, cell // the key is on the left
			} else {
				_, _ = b.WriteString("  ")
			}
			_, _ = b.WriteString(blanks)
			_, _ = b.WriteString(cell)
		}
		_, _ = b.WriteString("\n")
	}
	for _, row := range rows {
		line(row)
	}
	writeCostNotes(b, r.Report)
	return b.Flush()
}

// cells are a row of the table.
func cells(key string, l cost.Line) []string {
	row := append(make([]string, 0, 8), key)
	for _, seconds := range []int64{l.Machine.Used, l.Machine.Booting, l.Machine.Idle, l.Machine.Wasted, l.Machine.All, l.GPU.All} {
		row = append(row, hours(seconds))
	}
	switch {
	case l.Partial:
		row = append(row, "≥ "+l.Cost)
	case l.Cost != "":
		row = append(row, l.Cost)
	}
	return row
}

// writeCostNotes says what the numbers are not.
func writeCostNotes(b io.Writer, r cost.Report) {
	if r.Reused > 0 {
		fmt.Fprintf(b, "reused: %s of the used hours, by jobs that the machines were not requested for\n", hours(r.Reused))
	}
	if r.IdleCost != "" {
		fmt.Fprintf(b, "the idle hours cost %s\n", r.IdleCost)
	}
	var others []string
	if r.AsSpot != "" {
		others = append(others, fmt.Sprintf("%s at spot prices", r.AsSpot))
	}
	if r.AsDemand != "" {
		others = append(others, fmt.Sprintf("%s at on-demand prices", r.AsDemand))
	}
	if len(others) > 0 {
		fmt.Fprintf(b, "the same machine hours: %s\n", strings.Join(others, ", "))
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

// hours are seconds in hours, rounded to a tenth.
func hours(seconds int64) string {
	tenths := (seconds + 180) / 360
	return string(append(strconv.AppendInt(make([]byte, 0, 24), tenths/10, 10), '.', byte('0'+tenths%10)))
}

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

// writeCSV writes the rows, without a total: its reader adds them up.
func writeCSV(w io.Writer, r cost.Report) error {
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
		for _, s := range []cost.Seconds{l.Machine, l.GPU} {
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

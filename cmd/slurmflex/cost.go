package main

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"slurmflex/flex/cost"
	"slurmflex/flex/filler"
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
idle and wasted (boots that failed, and machines of jobs that started elsewhere or
whose other machines did not come), by account, user, partition, nodeset, job or
day. Overhead is charged to the job that the machine was obtained for; jobs that
share a machine share its time evenly. Leases that have not ended count up to now.

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
				return report.WriteCSV(cmd.OutOrStdout())
			case b.json:
				return writeJSON(cmd.OutOrStdout(), document)
			}
			return report.WriteTable(cmd.OutOrStdout())
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
	from, to, err := cost.Period(b.month, b.from, b.to)
	if err != nil {
		return cost.Report{}, usageError{err}
	}
	prices, err := filler.ReadPrices(cmp.Or(b.prices, a.pricesPath()), b.prices != "")
	if err != nil {
		return cost.Report{}, usageError{err}
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

// bill is what the command prints.
type bill struct {
	view.Envelope
	cost.Report
}

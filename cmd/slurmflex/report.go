package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"slurmflex/flex/cost"
	"slurmflex/flex/history"
	"slurmflex/flex/monthly"
)

func newReport(a *app) *cobra.Command {
	var month, prices, output string
	cmd := &cobra.Command{
		Use: "report", Short: "Write a month's waits, use, waste and money as a web page", GroupID: "ask", Args: noArguments,
		Long: `Write one HTML page for people who pay: machine hours by day, how long requests
waited, and what accounts, users and nodesets used, wasted and cost. The page
loads nothing from elsewhere, so it can be mailed and printed.

It reads the history in slurmflex.state_dir, as slurmflex cost does, and the price
file if there is one.`,
		Example: `  slurmflex report --month 2026-11 --output november.html
  slurmflex report --month 2026-11 >november.html`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			page, err := a.report(month, prices, cmd.Flags().Changed("prices"))
			if err != nil {
				return err
			}
			if output == "" {
				_, err = cmd.OutOrStdout().Write(page)
				return err
			}
			return replaceFile(output, page)
		},
	}
	cmd.Flags().StringVar(&month, "month", "", "the `month`, such as 2026-11; default: the current one")
	cmd.Flags().StringVar(&prices, "prices", defaultPrices, "the price `file`")
	cmd.Flags().StringVar(&output, "output", "", "write to this `file` instead of standard output")
	return cmd
}

// report makes the page of a month.
func (a *app) report(month, pricesPath string, pricesWanted bool) ([]byte, error) {
	cfg, err := a.config()
	if err != nil {
		return nil, err
	}
	now := time.Now()
	first := time.Date(now.Year(), now.Month(), 1, 0, 0, 0, 0, time.Local)
	if month != "" {
		if first, err = time.ParseInLocation("2006-01", month, time.Local); err != nil {
			return nil, usageError{fmt.Errorf("--month %s: give a month, such as 2026-11", month)}
		}
	}
	prices, err := readPrices(pricesPath, pricesWanted)
	if err != nil {
		return nil, err
	}
	from, to := history.At(first), history.At(first.AddDate(0, 1, 0))
	made, err := bills(cfg, prices, from, to, cost.Day, cost.Account, cost.User, cost.NodeSet)
	if err != nil {
		return nil, err
	}
	waits := monthly.NewWaits(from, to)
	if _, err := history.Read(cfg.Options.StateDir, cfg.Cluster, history.Wait, waits.Take); err != nil {
		return nil, whoMayRead(err)
	}
	var page bytes.Buffer
	err = monthly.Write(&page, monthly.Month{
		First: first, At: now, Days: made[0], Accounts: made[1], Users: made[2], NodeSets: made[3], Waits: waits.All(),
	})
	return page.Bytes(), err
}

// replaceFile writes a file as a whole or not at all.
func replaceFile(path string, text []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-*")
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	defer os.Remove(f.Name())
	if _, err = f.Write(text); err == nil {
		err = f.Chmod(0o644)
	}
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}

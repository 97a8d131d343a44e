package main

import (
	"cmp"

	"github.com/spf13/cobra"

	"slurmflex/config"
	"slurmflex/flex/cost"
)

func newCost(a *app) *cobra.Command {
	q, prices := cost.Query{}, ""
	cmd := &cobra.Command{
		Use: "cost", Short: "Show what machines were used for, and what that cost", GroupID: "ask", Args: noArguments,
		Long: `Show how many machine hours and GPU hours were leased, by account, user, partition,
nodeset, job or day. Time before a machine's first job is charged to the job that the
machine was created for, idle time to its last job. Jobs that share a machine share its
time evenly. Leases that have not ended count up to now.

With a price file, the cost is shown too: prices.yaml in the directory of the
configuration file (usually /etc/slurmflex), or --prices FILE. The documentation has
an example. slurmflex looks up no prices; discounts, disks and networks are left out.

It reads the history in slurmflex.state_dir and asks Google nothing. Where Slurm
hides jobs from other users, it runs as SlurmUser.`,
		Example: `  slurmflex cost --month 2026-11 --by account
  slurmflex cost --by user
  slurmflex cost --by day --json`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := a.config()
			if err != nil {
				return err
			}
			paid, err := cost.ReadPrices(cmp.Or(prices, a.pricesPath()), prices != "")
			if err != nil {
				return config.Misuse(err)
			}
			report, err := q.Report(cfg, paid)
			if err != nil {
				return err
			}
			return show(cmd, report)
		},
	}
	cmd.Flags().StringVar(&q.Month, "month", "", "count this `month`: 2026-11; local time")
	cmd.Flags().StringVar(&q.From, "from", "", "count from this `time` on: 2026-11-01, or 2026-11-01T12:00:00; local time")
	cmd.Flags().StringVar(&q.To, "to", "", "count up to this `time`, exclusive")
	cmd.Flags().StringVar(&q.By, "by", string(cost.Account), "one row per `key`: account, user, partition, nodeset, job or day")
	cmd.Flags().StringVar(&prices, "prices", "", "the price `file`, instead of prices.yaml in the configuration file's directory")
	jsonFlag(cmd)
	return cmd
}

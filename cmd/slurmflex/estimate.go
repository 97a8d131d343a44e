package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"slurmflex/config"
	"slurmflex/flex/estimate"
	"slurmflex/flex/history"
	"slurmflex/flex/view"
	"slurmflex/mig"
	"slurmflex/slurm"
)

// estimation is how the command estimate was called.
type estimation struct {
	partition string
	nodes     int
	time      string
	short     bool
	json      bool
}

func newEstimate(a *app) *cobra.Command {
	e := estimation{}
	cmd := &cobra.Command{
		Use: "estimate [JOB]", Short: "Estimate how long a job waits for machines", GroupID: "ask",
		Long: `Estimate how long a job waits for machines, from how long requests like it have
waited on this cluster: the median and the 90th percentile. A table shows what
other time limits and numbers of nodes would change. For a job that waits already,
the estimate is for the time from now on.

The estimate is by Kaplan and Meier's method, so requests that were cancelled or
still wait count for as long as they have waited. If waits have become longer or
shorter, only requests since the change count. If waits depend on when in the week
they begin, only requests of the same hours count: weekdays 8:00 to 18:00, weekdays
18:00 to 8:00, or weekends, in local time. Where too few are left, the others count
as well. With fewer than 10 requests like it there is no estimate. In the table, a
longer time limit never starts sooner: numbers that chance puts in the wrong order
are averaged. Any user may run it, on a host that has the
history: see slurmflex.state_dir. It asks Google nothing, unless
slurmflex.capacity_advice is true: then Compute's advice.capacity is shown too.`,
		Example: `  slurmflex estimate --partition train --nodes 4 --time 4:00:00
  slurmflex estimate -p train -N 4 -t 2-00:00:00
  slurmflex estimate -p train -N 4 --short
  slurmflex estimate 812`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 1 || (len(args) == 1) == (e.partition != "") {
				return usageError{fmt.Errorf("usage: %s JOB, or %s -p PARTITION -N NODES -t TIME", cmd.CommandPath(), cmd.CommandPath())}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			cfg, err := a.config()
			if err != nil {
				return err
			}
			now := time.Now()
			var questions []question
			if len(args) == 1 {
				questions, err = a.aboutJob(cmd.Context(), cfg, args[0], now)
			} else {
				questions, err = e.questions(cmd.Context(), a, cfg)
			}
			if err != nil {
				return err
			}
			report, err := answers(cfg, questions, now, e.short || cfg.Options.CapacityAdvice)
			if err != nil {
				return err
			}
			if e.short {
				_, err := fmt.Fprint(cmd.OutOrStdout(), shortly(report))
				return err
			}
			if cfg.Options.CapacityAdvice {
				a.advise(cmd.Context(), cfg, questions, report.Estimates)
			}
			return write(cmd.OutOrStdout(), e.json, estimated{view.EnvelopeOf("estimate"), report})
		},
	}
	cmd.Flags().StringVarP(&e.partition, "partition", "p", "", "the `partition` of the job")
	cmd.Flags().IntVarP(&e.nodes, "nodes", "N", 1, "its `number` of nodes")
	cmd.Flags().StringVarP(&e.time, "time", "t", "", "its time limit, as sbatch takes it; without one its lease is the longest")
	cmd.Flags().BoolVar(&e.short, "short", false, "print only the estimate, one line for each nodeset, and nothing without history")
	jsonFlag(cmd, &e.json)
	cmd.MarkFlagsMutuallyExclusive("short", "json")
	return cmd
}

// question is what is asked of a nodeset.
type question struct {
	nodeset, machine string
	estimate.Question
}

// whatIfTimes are the time limits of the table.
var whatIfTimes = []time.Duration{time.Hour, 6 * time.Hour, 24 * time.Hour, 7 * 24 * time.Hour}

// ask is the question about a request for a nodeset.
func ask(set *config.NodeSet, partition string, nodes int, lease time.Duration) question {
	q := question{nodeset: set.Name, Question: estimate.Question{
		Partition: partition, Request: estimate.Request{Count: nodes, Lease: int64(lease.Seconds())}, Most: set.Size(),
	}}
	if !set.Flex.UseJobDuration {
		q.Times, q.Leases = []int64{0}, []int64{int64(leaseOf(set, 0).Seconds())}
		return q
	}
	for _, limit := range whatIfTimes {
		if lease := leaseOf(set, limit); lease >= limit {
			q.Times, q.Leases = append(q.Times, int64(limit.Seconds())), append(q.Leases, int64(lease.Seconds()))
		}
	}
	return q
}

// leaseOf is the lease that a job of that time limit needs; 0: it has none.
func leaseOf(set *config.NodeSet, limit time.Duration) time.Duration {
	longest := min(set.Flex.MaxRunDuration, mig.MaxDuration)
	if !set.Flex.UseJobDuration || limit == 0 {
		return longest
	}
	return min(max(limit+set.Flex.JobDurationMargin, mig.MinDuration), longest)
}

// questions are those of the command line, one for each nodeset of the partition.
func (e estimation) questions(ctx context.Context, a *app, cfg *config.Config) (questions []question, err error) {
	var limit time.Duration
	if e.time != "" {
		if limit, err = slurm.ParseTime(e.time); err != nil {
			return nil, usageError{fmt.Errorf("--time: %w", err)}
		}
	}
	sets, err := flexSetsOf(cfg, e.partition)
	if err != nil {
		return nil, err
	}
	most := 0
	for _, set := range sets {
		most = max(most, set.Size())
		if e.nodes <= set.Size() {
			questions = append(questions, ask(set, e.partition, e.nodes, leaseOf(set, limit)))
		}
	}
	if e.nodes < 1 || len(questions) == 0 {
		return nil, usageError{fmt.Errorf("--nodes %d: partition %s has nodesets of up to %d nodes", e.nodes, e.partition, most)}
	}
	v, err := a.askDaemon(ctx, cfg.Glance())
	for i := range questions {
		if set, ok := v.NodeSet(questions[i].nodeset); err == nil && ok {
			questions[i].machine = set.Machine
		}
	}
	return questions, nil // without a daemon the history says what machines they are
}

// flexSetsOf are the nodesets of a partition that are provisioned by flex-start.
func flexSetsOf(cfg *config.Config, partition string) (sets []*config.NodeSet, err error) {
	var others []string
	for _, p := range cfg.Partitions {
		ours := slices.DeleteFunc(cfg.SetsOf(p), func(set *config.NodeSet) bool { return set.Flex == nil })
		switch {
		case len(ours) == 0:
		case p.Name == partition:
			return ours, nil
		default:
			others = append(others, p.Name)
		}
	}
	return nil, usageError{fmt.Errorf("partition %q has no flex-start nodes; choose one of: %s", partition, strings.Join(others, ", "))}
}

// aboutJob are the questions about a job that waits, one for each nodeset.
func (a *app) aboutJob(ctx context.Context, cfg *config.Config, name string, now time.Time) (questions []question, err error) {
	over := a.progress.begin("reading Slurm and Compute")
	v, err := a.see(ctx)
	over()
	if err != nil {
		return nil, err
	}
	job, rows, err := v.Find(name)
	if err != nil {
		return nil, err
	}
	for _, row := range rows {
		set := setOf(cfg, row.NodeSet)
		if !row.Waits() || set == nil {
			continue
		}
		lease := time.Duration(row.Lease)
		if lease == 0 {
			lease = leaseOf(set, time.Duration(job.Limit))
		}
		q := ask(set, job.Partition, row.Count, lease)
		q.Job = job.Name()
		if !row.Since.IsZero() {
			q.Waited = max(int64(now.Sub(row.Since).Seconds()), 0)
		}
		if seen, ok := v.NodeSet(row.NodeSet); ok {
			q.machine = seen.Machine
		}
		questions = append(questions, q)
	}
	switch {
	case len(questions) > 0:
		return questions, nil
	case len(rows) > 0:
		return nil, fmt.Errorf("job %s has its machines; slurmflex why %s shows when their lease ends", job.Name(), job.Name())
	case job.Nodes == "":
		return nil, fmt.Errorf("job %s (%s) has no nodes yet, so its machines are not requested; slurmflex estimate -p %s -N NODES -t TIME "+
			"estimates how long they will take from then on", job.Name(), job.State, job.Partition)
	}
	return nil, fmt.Errorf("job %s has no flex-start nodes", job.Name())
}

// setOf is the nodeset of that name that is provisioned by flex-start; nil if there
// is none.
func setOf(cfg *config.Config, name string) *config.NodeSet {
	for _, set := range cfg.FlexSets() {
		if set.Name == name {
			return set
		}
	}
	return nil
}

// answers answers the questions from the history. A cluster without any history is an error unless
// evenWithout says otherwise.
func answers(cfg *config.Config, questions []question, now time.Time, evenWithout bool) (estimate.Report, error) {
	book := estimate.NewBook(history.At(now), time.Local)
	tally, err := history.Read(cfg.Options.StateDir, cfg.Cluster, history.Wait, book.Take)
	if err != nil {
		return estimate.Report{}, whoMayRead(err)
	}
	if tally.Entries == 0 && !evenWithout {
		return estimate.Report{}, noHistory(cfg, tally)
	}
	r := estimate.Report{Cluster: cfg.Cluster, Bad: tally.Bad}
	for _, q := range questions {
		r.Estimates = append(r.Estimates, book.Of(q.nodeset, q.machine).Answer(q.Question, history.At(now)))
	}
	return r, nil
}

// noHistory returns the error of a command that needs the history where none has been recorded.
func noHistory(cfg *config.Config, tally history.Tally) error {
	unread := ""
	if tally.Bad > 0 {
		unread = ", and " + view.Count(tally.Bad, "line") + " that cannot be read"
	}
	return fmt.Errorf("no history in %s: it has nothing of cluster %s yet%s; run this command where the daemon runs, after a job has had "+
		"machines, or correct slurmflex.state_dir", cfg.Options.StateDir, cfg.Cluster, unread)
}

// whoMayRead adds to an error of the history what to do about it.
func whoMayRead(err error) error {
	return fmt.Errorf("%w; where Slurm hides jobs from other users (PrivateData), run it as SlurmUser", err)
}

// estimated is what the command prints.
type estimated struct {
	view.Envelope
	estimate.Report
}

// String is the report for people.
func (r estimated) String() string {
	var b strings.Builder
	for i, a := range r.Estimates {
		if i > 0 {
			b.WriteString("\n")
		}
		answerText(&b, a)
	}
	if r.Bad > 0 {
		fmt.Fprintf(&b, "\n%s of the history could not be read\n", view.Count(r.Bad, "line"))
	}
	return b.String()
}

func answerText(b *strings.Builder, a estimate.Answer) {
	subject := "partition " + a.Partition
	if a.Job != "" {
		subject = "job " + a.Job
	}
	machine := ""
	if a.Machine != "" {
		machine = " (" + a.Machine + ")"
	}
	fmt.Fprintf(b, "%s, nodeset %s%s: %s, lease %s", subject, a.NodeSet, machine, view.Count(a.Nodes, "node"), span(a.Lease))
	if a.Waited > 0 {
		fmt.Fprintf(b, ", waiting for %s", span(a.Waited))
	}
	b.WriteString("\n")
	switch {
	case !a.History && a.Waited > 0:
		b.WriteString("  no history: too few requests like this are known that waited so long\n")
	case !a.History:
		b.WriteString("  no history: too few requests like this are known\n")
	default:
		fmt.Fprintf(b, "  %s\n", within(a))
		if len(a.Chances) > 0 {
			b.WriteString("  chance of machines within ")
			for i, c := range a.Chances {
				if i > 0 {
					b.WriteString(", ")
				}
				fmt.Fprintf(b, "%s %.0f %%", span(int64(c.Hours)*3600), 100*c.Chance)
			}
			b.WriteString("\n")
		}
		fmt.Fprintf(b, "  from %s (%d got machines) of %s to %s: %s\n", view.Count(a.Samples, "request"), a.Granted,
			a.Oldest.Time().Local().Format(time.DateOnly), a.Newest.Time().Local().Format(time.DateOnly), a.Like)
	}
	if a.Advice != nil {
		fmt.Fprintf(b, "  %s\n", adviceText(a.Advice))
	}
	whatIfText(b, a.WhatIf)
}

// shortly is the report in a line for each nodeset that has a history.
func shortly(r estimate.Report) string {
	var b strings.Builder
	for _, a := range r.Estimates {
		if a.History {
			fmt.Fprintf(&b, "nodeset %s, %s: %s\n", a.NodeSet, view.Count(a.Nodes, "node"), within(a))
		}
	}
	return b.String()
}

// within describes how long the machines take.
func within(a estimate.Answer) string {
	wait := "median wait "
	if a.Waited > 0 {
		wait = "median wait of the requests that had waited this long: another "
	}
	switch {
	case a.Half == nil:
		wait = "fewer than half of such requests are known to have got machines"
	case a.Ninety == nil:
		wait += span(*a.Half) + "; too few waited long enough to say more"
	default:
		wait += span(*a.Half) + ", 90th percentile " + span(*a.Ninety)
	}
	if a.Change != nil {
		wait += "; " + view.Change(*a.Change).String()
	}
	return wait
}

// whatIfText writes the table: a line for each time limit.
func whatIfText(b *strings.Builder, others []estimate.Other) {
	if !slices.ContainsFunc(others, func(o estimate.Other) bool { return o.Samples > 0 }) {
		return
	}
	b.WriteString("\n  median / 90th percentile of the wait\n")
	const column = "%-18s"
	fmt.Fprintf(b, "  %-8s", "--time")
	for _, o := range others {
		if o.Time == others[0].Time {
			fmt.Fprintf(b, column, view.Count(o.Nodes, "node"))
		}
	}
	for i, o := range others {
		if i == 0 || o.Time != others[i-1].Time {
			limit := "any"
			if o.Time > 0 {
				limit = span(o.Time)
			}
			trimRight(b)
			fmt.Fprintf(b, "\n  %-8s", limit)
		}
		fmt.Fprintf(b, column, quantiles(o))
	}
	trimRight(b)
	b.WriteString("\n")
}

// trimRight takes the blanks off the end of what is written so far.
func trimRight(b *strings.Builder) {
	text := strings.TrimRight(b.String(), " ")
	b.Reset()
	b.WriteString(text)
}

// quantiles are a cell of the table.
func quantiles(o estimate.Other) string {
	if o.Half == nil {
		return "no history"
	}
	return view.Estimate{Half: secondsOf(o.Half), Ninety: secondsOf(o.Ninety)}.Short()
}

func span(seconds int64) string { return view.Span(time.Duration(seconds) * time.Second) }

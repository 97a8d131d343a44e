package estimate

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"slurmflex/flex/view"
)

// String returns the report for people.
func (r Report) String() string {
	var b strings.Builder
	switch {
	case r.Places != nil:
		b.WriteString(r.Short() + r.Places.String())
	case r.Best != nil:
		r.bestText(&b)
	default:
		for i, a := range r.Estimates {
			if i > 0 {
				b.WriteString("\n")
			}
			answerText(&b, a)
		}
	}
	if r.Bad > 0 {
		fmt.Fprintf(&b, "\n%s of the history could not be read\n", view.Count(r.Bad, "line"))
	}
	return b.String()
}

func answerText(b *strings.Builder, a Answer) {
	subject := "partition " + a.Partition
	if a.Job != "" {
		subject = "job " + a.Job
	}
	machine := ""
	if a.Machine != "" {
		machine = " (" + a.Machine + ")"
	}
	fmt.Fprintf(b, "%s, nodeset %s%s: %s, lease %s", subject, a.NodeSet, machine, view.Count(a.Nodes, "node"), span(a.Lease))
	if a.shared {
		b.WriteString(", shared request")
	}
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
	whatIfText(b, a.WhatIf)
}

// Short returns the report with one line for each nodeset that has a history.
func (r Report) Short() string {
	if r.Best != nil {
		return r.soonest()
	}
	var b strings.Builder
	for _, a := range r.Estimates {
		if a.History {
			fmt.Fprintf(&b, "nodeset %s, %s: %s\n", a.NodeSet, view.Count(a.Nodes, "node"), within(a))
		}
	}
	return b.String()
}

// within describes how long the machines take.
func within(a Answer) string {
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

// whatIfText writes the table, with one line for each time limit.
func whatIfText(b *strings.Builder, others []Other) {
	if !slices.ContainsFunc(others, func(o Other) bool { return o.Samples > 0 }) {
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

// trimRight removes the blanks at the end of the text so far.
func trimRight(b *strings.Builder) {
	text := strings.TrimRight(b.String(), " ")
	b.Reset()
	b.WriteString(text)
}

// quantiles returns a cell of the table.
func quantiles(o Other) string {
	if o.Half == nil {
		return "no history"
	}
	return view.Estimate{Half: Seconds(o.Half), Ninety: Seconds(o.Ninety)}.Short()
}

func span(seconds int64) string { return view.Span(time.Duration(seconds) * time.Second) }

// Seconds returns seconds for a view; 0 for nil.
func Seconds(n *int64) view.Seconds {
	if n == nil {
		return 0
	}
	return view.Seconds(time.Duration(*n) * time.Second)
}

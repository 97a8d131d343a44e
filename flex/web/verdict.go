package web

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"slurmflex/flex/view"
)

// The kinds of verdicts. Problems stand out.
const (
	calm  = "calm"
	wrong = "wrong"
	money = "money" // it costs money without use
)

// verdict answers one of the questions that the page answers first.
type verdict struct {
	Title, Value, Text string
	Kind               string // one of the kinds
	More               int    // number of further problems
	Link, Help         string // to the details on the page, and to the troubleshooting page; empty without a text
}

// verdictsOf answers whether something is wrong, who waits and why, and what costs money for nothing.
func verdictsOf(v view.View, problems []string, rows []view.Row, now time.Time) []verdict {
	return []verdict{wrongOf(v, problems), waitOf(v, rows, now), wasteOf(v, rows, now)}
}

func wrongOf(v view.View, problems []string) verdict {
	is := verdict{Title: "Problems", Value: "none", Kind: calm}
	if len(problems) > 0 {
		is.Text, is.More, is.Link = view.Clip(problems[0], clipped), len(problems)-1, "#problems"
		is.Value, is.Kind, is.Help = fmt.Sprint(len(problems)), wrong, "/troubleshooting#problems"
	}
	if held := v.Totals().Held; held > 0 {
		is.Value, is.Kind = fmt.Sprintf("%d, %s held", len(problems), view.Count(held, "job")), wrong
	}
	return is
}

// clipped is the maximum length of a verdict's text, in characters.
const clipped = 140

// waitOf names the job that has waited longest. Without jobs that wait for machines, it gives the
// first reason of pending ones.
func waitOf(v view.View, rows []view.Row, now time.Time) verdict {
	t := v.Totals()
	is := verdict{Title: "Jobs waiting", Value: fmt.Sprint(t.Waiting), Help: "/troubleshooting#a-job-waits-too-long"}
	var first *view.Row
	for i, r := range rows {
		switch {
		case !r.Waits() && r.State != view.Pending:
		case first == nil, !r.Since.IsZero() && (first.Since.IsZero() || r.Since.Before(first.Since)):
			first = &rows[i]
		}
	}
	if first == nil || t.Waiting == 0 {
		is.Kind = calm
		return is
	}
	why := cmp.Or(view.Details([]view.Row{*first}, now)[0], string(first.State))
	if len(first.ShownAs) > 0 {
		why = first.ShownAs[0] + ": " + why
		if len(first.Users) > 0 {
			why = first.Users[0] + "’s " + why
		}
	}
	if t.LongestWait > 0 {
		is.Value += ", longest " + view.Span(t.LongestWait)
	}
	is.Text, is.Link = view.Clip(why, clipped), "#waiting"
	return is
}

// wasteOf counts the machines that are paid for but run no job: idle, down, or without a node.
func wasteOf(v view.View, rows []view.Row, now time.Time) verdict {
	is := verdict{Title: "Machines without a job", Value: "none", Kind: calm}
	count, gpus, price, currency, nodes := 0, 0, 0., "", []string(nil)
	for _, r := range rows {
		if !slices.Contains([]view.State{view.Idle, view.Down, view.Orphaned}, r.State) {
			continue
		}
		n, _ := v.GPUsOf(r)
		count, gpus, nodes = count+r.Count, gpus+n, append(nodes, r.Nodes.String()+": "+cmp.Or(view.Details([]view.Row{r}, now)[0], string(r.State)))
		if set, _ := v.NodeSet(r.NodeSet); set.Price != nil {
			price, currency = price+float64(r.Count)*set.Price.Hour, set.Price.Currency
		}
	}
	if count == 0 {
		return is
	}
	is.Value, is.Kind, is.Link = fmt.Sprint(count), money, "#machines"
	if gpus > 0 {
		is.Value += ", " + view.Count(gpus, "GPU")
	}
	if price > 0 {
		is.Value += fmt.Sprintf(", %.0f %s/h", price, currency)
	}
	is.Text, is.Help = view.Clip(strings.Join(nodes, ", "), clipped), "/troubleshooting#machines-cost-money-without-a-job"
	return is
}

package estimate

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"slurmflex/config"
	"slurmflex/flex/view"
)

// Range is a number of nodes as sbatch takes it: 2, or 2-4. It is a command's flag.
type Range struct{ Least, Most int }

func (r *Range) String() string {
	if r.Least == r.Most {
		return strconv.Itoa(r.Most)
	}
	return fmt.Sprintf("%d-%d", r.Least, r.Most)
}

// Set parses the range.
func (r *Range) Set(text string) (err error) {
	least, most, isRange := strings.Cut(text, "-")
	if r.Least, err = strconv.Atoi(least); err == nil && isRange {
		r.Most, err = strconv.Atoi(most)
	} else {
		r.Most = r.Least
	}
	if err != nil || r.Least > r.Most {
		return fmt.Errorf("must be a number such as 2, or a range such as 2-4")
	}
	return nil
}

// Type names the flag's type.
func (r *Range) Type() string { return "number" }

// counts returns the fewest and the most nodes, and doublings of the fewest in between. The fewest
// must be at least 1.
func (r *Range) counts() (counts []int) {
	for n := r.Least; n < r.Most; n *= 2 {
		counts = append(counts, n)
	}
	return append(counts, r.Most)
}

// limits returns the time limits that a job could have in a nodeset: its own, shorter usual ones,
// and the least one. A limit of 0 means no time limit, a least one of 0 any.
func limits(set *config.NodeSet, limit, least time.Duration) (all []time.Duration) {
	if limit == 0 {
		limit = leaseOf(set, 0) - set.Flex.JobDurationMargin
	}
	if least > 0 {
		all = append(all, min(least, limit))
	}
	for _, usual := range whatIfTimes {
		if usual > least && usual < limit {
			all = append(all, usual)
		}
	}
	return append(all, limit)
}

// Shape is a way to request machines for a job.
type Shape struct {
	Partition string `json:"partition"`
	NodeSet   string `json:"nodeset"`
	Other
	Requested bool  `json:"as_requested"`             // the job as it is
	Waited    int64 `json:"waited_seconds,omitempty"` // of the job's own request; the rest counts from now
}

// best ranks the shapes with enough history by their median wait. A shape is left out if its nodeset
// gives the job as much or more, as soon or sooner. Its own shape in each nodeset is never left out.
func best(questions []Question, answers []Answer) (ranked []Shape) {
	for i, a := range answers {
		shapes := questions[i].shapes(a)
		for _, s := range shapes {
			beaten := slices.ContainsFunc(shapes, s.isBeaten)
			if s.Requested && a.Waited > 0 {
				a.own.Time, a.own.Nodes = s.Time, s.Nodes
				s.Waited, s.Other = a.Waited, a.own
			}
			if s.Half != nil && (s.Requested || !beaten) {
				ranked = append(ranked, s)
			}
		}
	}
	slices.SortStableFunc(ranked, func(a, b Shape) int { return cmp.Compare(*a.Half, *b.Half) })
	return ranked
}

// shapes returns the cells of an answer's table.
func (q Question) shapes(a Answer) (all []Shape) {
	for i, o := range a.WhatIf {
		row := i / len(q.Counts)
		s := Shape{Partition: q.Partition, NodeSet: a.NodeSet, Other: o}
		s.Requested = row == len(q.Times)-1 && q.Leases[row] == q.Request.Lease && o.Nodes == q.Request.Count
		all = append(all, s)
	}
	return all
}

// isBeaten reports whether the other shape gives as much or more, as soon or sooner.
func (s Shape) isBeaten(other Shape) bool {
	better := other.Nodes > s.Nodes || other.Time > s.Time
	return other.Half != nil && better && other.Nodes >= s.Nodes && other.Time >= s.Time && *other.Half <= *s.Half
}

// flags describes the shape in the words of sbatch.
func (s Shape) flags() string {
	text := fmt.Sprintf("--partition=%s --nodes=%d", s.Partition, s.Nodes)
	if s.Time > 0 {
		text += " --time=" + view.Seconds(time.Duration(s.Time)*time.Second).Limit()
	}
	return text
}

// shownShapes is the maximum number of shapes in the text.
const shownShapes = 8

// bestText writes the shapes as a table, and what is left out.
func (r Report) bestText(b *strings.Builder) {
	for _, a := range r.Estimates {
		if a.Waited > 0 && !a.History {
			fmt.Fprintf(b, "nodeset %s: too few requests are known that waited as long as the job's own, %s\n", a.NodeSet, span(a.Waited))
		}
	}
	if len(r.Best) == 0 {
		b.WriteString("no history: too few requests like these are known\n")
		return
	}
	b.WriteString("soonest first: median / 90th percentile of the wait, and the chance of machines within\n\n")
	const form = "  %-*s  %-*s  %-5s  %-10s  %-18s"
	set, partition := len("nodeset"), len("partition")
	for _, s := range r.Best {
		set, partition = max(set, len(s.NodeSet)), max(partition, len(s.Partition))
	}
	fmt.Fprintf(b, form, partition, "partition", set, "nodeset", "nodes", "--time", "wait")
	for _, hours := range whatIfHours {
		fmt.Fprintf(b, "%7s", span(int64(hours)*hour))
	}
	for i, s := range r.Best {
		if i >= shownShapes && !s.Requested {
			continue
		}
		limit := "any"
		if s.Time > 0 {
			limit = view.Seconds(time.Duration(s.Time) * time.Second).Limit()
		}
		fmt.Fprintf(b, "\n"+form, partition, s.Partition, set, s.NodeSet, strconv.Itoa(s.Nodes), limit, quantiles(s.Other))
		for _, c := range s.Chances {
			fmt.Fprintf(b, "%5.0f %%", min(99, 100*c.Chance)) // nothing is certain
		}
		switch {
		case s.Waited > 0:
			fmt.Fprintf(b, "  its request, from now (waiting for %s)", span(s.Waited))
		case s.Requested:
			b.WriteString("  as requested")
		}
	}
	b.WriteString("\n")
	for _, a := range r.Estimates {
		unknown := 0
		for _, o := range a.WhatIf {
			if o.Half == nil {
				unknown++
			}
		}
		if unknown > 0 {
			fmt.Fprintf(b, "nodeset %s: %d of %d left out: too few requests like them got machines\n", a.NodeSet, unknown, len(a.WhatIf))
		}
	}
}

// soonest returns the wait of the job as it is, where it is shortest, and the soonest shape if its
// median wait is notably and certainly shorter. It is one line, or empty without enough history.
func (r Report) soonest() string {
	own := slices.IndexFunc(r.Best, func(s Shape) bool { return s.Requested })
	if own < 0 {
		return ""
	}
	is, first := r.Best[own], r.Best[0]
	text := fmt.Sprintf("median / 90th percentile of the wait in partition %s: %s", is.Partition, quantiles(is.Other))
	if !near(float64(*first.Half), float64(*is.Half), notable) && first.isSooner(is) {
		text += fmt.Sprintf("; %s: %s", first.flags(), quantiles(first.Other))
	}
	return text + "\n"
}

// isSooner reports whether chance alone hardly explains that more than half of the shape's waits are
// shorter than the other shape's median: the difference is over 2.5 standard errors.
func (s Shape) isSooner(other Shape) bool {
	p := s.curve.Chance(*other.Half)
	spread := .25/float64(other.Samples) + p*(1-p)/float64(s.Samples)
	return p-.5 > 2.5*math.Sqrt(spread)
}

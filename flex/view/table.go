package view

import (
	"fmt"
	"math"
	"strings"
	"time"
)

// Width is the maximum width of text, in characters. A table's rows may be wider if the terminal is
// wider.
const Width = 100

// Layout describes how to format a table.
type Layout struct {
	Now   time.Time // current time, in the reader's time zone
	Color bool
	Width int  // of the terminal, in characters; 0: not a terminal, unlimited
	Wide  bool // more columns, nothing clipped

	Filtered bool // the view is only a part, so missing rows do not mean that nothing exists
}

// Table formats the view for a terminal: a summary and problems, one line per row with
// its last error or obstacle below, then each nodeset and region. If the layout has a width, no line
// is longer; otherwise no line is broken.
func (v View) Table(layout Layout) string {
	t := &table{layout: layout}
	t.paragraph(Plain, v.headline(layout.Now))
	t.paragraph(Plain, v.summary())
	if trouble := v.Daemon.Says(); trouble != "" {
		t.paragraph(Bad, trouble)
	}
	t.problems(v.Problems)
	t.line(Plain, "")
	t.rows(v)
	t.line(Plain, "")
	for _, set := range v.NodeSets {
		t.nodeSet(v, set)
	}
	for _, r := range v.Regions {
		t.region(r)
	}
	for _, l := range v.Limits {
		for _, line := range l.Lines() {
			t.paragraph(Plain, line)
		}
	}
	return t.text.String()
}

// headline names the cluster and the age of the view.
func (v View) headline(now time.Time) string {
	text := fmt.Sprintf("cluster %s at %s %s", v.Cluster, Moment(v.SeenAt, now), now.Format("MST"))
	if old := now.Sub(v.SeenAt); v.Daemon != nil && old >= time.Second {
		text += ", " + Span(old) + " ago"
	}
	return text + v.live()
}

// live returns what follows the time of a view that no daemon made.
func (v View) live() string {
	if v.Daemon != nil {
		return ""
	}
	return " (live; no daemon answers: systemctl restart slurmflex)"
}

// shownProblems is the number of problems that a table lists unless it is wide.
const shownProblems = 10

// problems lists the problems, one line each.
func (t *table) problems(all []string) {
	shown := len(all)
	if !t.layout.Wide && shown > shownProblems {
		shown = shownProblems
	}
	for _, p := range all[:shown] {
		t.paragraph(Warn, "problem: "+p)
	}
	if more := len(all) - shown; more > 0 {
		t.paragraph(Warn, Count(more, "more problem")+": slurmflex status -o wide")
	}
}

// table collects lines of text.
type table struct {
	layout Layout
	text   strings.Builder
}

// color is the color of a text on terminals with colors.
type color string

// These are the tones, as escape sequences.
const (
	Plain color = ""
	Good  color = "\x1b[32m"
	Warn  color = "\x1b[33m"
	Bad   color = "\x1b[31m"
	Head  color = "\x1b[1m"
	reset       = "\x1b[0m"
)

func (t *table) line(tone color, text string) {
	text = Printable(text)
	if t.layout.Width > 0 {
		text = Clip(text, t.layout.Width)
	}
	if t.layout.Color && tone != Plain {
		text = string(tone) + text + reset
	}
	t.text.WriteString(text + "\n")
}

// paragraph writes a text of any length.
func (t *table) paragraph(tone color, text string) {
	for line := range strings.Lines(Wrap(Printable(text), "", t.textWidth())) {
		t.line(tone, strings.TrimSuffix(line, "\n"))
	}
}

// textWidth returns the width of running text.
func (t *table) textWidth() int {
	if t.layout.Width == 0 {
		return math.MaxInt
	}
	return min(t.layout.Width, Width)
}

// nodeSet summarizes a nodeset.
func (t *table) nodeSet(v View, set NodeSet) {
	t.paragraph(Plain, v.SummaryOf(set))
	for _, n := range set.States {
		if n.isOut() && n.Reason != "" {
			t.paragraph(Bad, fmt.Sprintf("  %s %s: %s", n.Nodes, n.State, n.Reason))
		}
		if n.State == notUnderstood {
			t.paragraph(Bad, fmt.Sprintf("  %s: state %s is not known to slurmflex", n.Nodes, n.Slurm))
		}
	}
	if set.Block != nil {
		t.paragraph(Bad, set.Name+" is "+set.Blocked(t.layout.Now))
	}
}

// SummaryOf counts the nodes and requests of a nodeset.
func (v View) SummaryOf(s NodeSet) string {
	counts := map[string]int{}
	var words []string
	for _, n := range s.States {
		if counts[n.State] == 0 {
			words = append(words, n.State)
		}
		counts[n.State] += n.Count
	}
	text := fmt.Sprintf("nodeset %s: %s", s.Name, Count(s.Size, "node"))
	for _, word := range words {
		text += fmt.Sprintf(", %d %s", counts[word], word)
	}
	if len(words) == 0 && s.Size > 0 {
		text += ", none of them known to Slurm"
	}
	switch r := v.region(s.Region); {
	case r.ReadFail != "" && r.KnownAt.IsZero():
		return text + "; its requests are unknown"
	case r.ReadFail != "":
		return text + "; last known: " + Count(s.Active, "active request")
	}
	return text + "; " + Count(s.Active, "active request")
}

// Blocked explains why the nodeset is blocked, and names the admin's command to unblock it.
func (s NodeSet) Blocked(now time.Time) string {
	return fmt.Sprintf("%s; to unblock it: slurmflex unblock %s", s.blocked(now), s.Name)
}

func (s NodeSet) blocked(now time.Time) string {
	text := "blocked" + until(s.Block.Until, Moment(s.Block.Until, now))
	switch {
	case s.Block.Failed > 0:
		text += fmt.Sprintf(" because %s in a row failed to boot", Count(s.Block.Failed, "machine"))
	case s.Block.Why != "":
		text += " by an admin: " + s.Block.Why
	default:
		text += " by an admin"
	}
	return text
}

// until names the end of a block, as the last words of a sentence; empty if it has none.
func until(end time.Time, text string) string {
	if end.IsZero() {
		return ""
	}
	return " until " + text
}

func (t *table) region(r Region) {
	if r.ReadFail != "" {
		text := fmt.Sprintf("region %s could not be read", r.Name)
		if !r.KnownAt.IsZero() {
			text += fmt.Sprintf("; last known at %s: %d of %d active requests", Moment(r.KnownAt, t.layout.Now), r.Active, r.Most)
		}
		t.paragraph(Bad, text)
		return
	}
	t.paragraph(Plain, fmt.Sprintf("region %s: %d of %d active requests", r.Name, r.Active, r.Most))
}

package view

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// Width is how wide a text is at most, in characters. A table's rows may be
// wider where the terminal is.
const Width = 100

// Look says how a table is to look.
type Look struct {
	Now   time.Time // when it is looked at, in the zone of the person who looks
	Color bool
	Width int // of the terminal, in characters; 0: no terminal, as wide as it is
}

// Table is the view as text for a terminal: a summary, a line for each row with its
// last error or obstacle below, then each nodeset and region, and what an admin
// should know. Where Look has a width, no line is longer than that.
func (v View) Table(look Look) string {
	t := &table{look: look}
	t.line(Plain, "%s", v.headline(look.Now))
	t.paragraph(Plain, v.Summary())
	if trouble := v.Daemon.Says(); trouble != "" {
		t.paragraph(Bad, trouble)
	}
	t.line(Plain, "")
	t.rows(v)
	t.line(Plain, "")
	for _, set := range v.NodeSets {
		t.nodeSet(v, set)
	}
	for _, r := range v.Regions {
		t.region(r)
	}
	for _, held := range v.Held() {
		t.paragraph(Bad, held)
	}
	for _, p := range v.Problems {
		if !v.says(p) {
			t.paragraph(Warn, "problem: "+p)
		}
	}
	return t.text.String()
}

// headline says which cluster this is and how old the view is.
func (v View) headline(now time.Time) string {
	text := fmt.Sprintf("cluster %s at %s %s", v.Cluster, Moment(v.SeenAt, now), now.Format("MST"))
	switch old := now.Sub(v.SeenAt); {
	case v.Daemon == nil:
		text += " (live; the daemon is not running: systemctl start slurmflex)"
	case old >= time.Minute:
		text += ", " + Span(old) + " ago"
	}
	return text
}

// says reports whether the line of a row, a region or a nodeset shows a problem.
func (v View) says(problem string) bool {
	return slices.ContainsFunc(v.Rows, func(r Row) bool {
		return r.State == Lost && strings.HasPrefix(problem, r.Obstacle) || r.Obstacle != "" && problem == r.Group+": "+r.Obstacle
	}) || slices.ContainsFunc(v.Regions, func(r Region) bool {
		return r.ReadFail != "" && strings.HasPrefix(problem, "region "+r.Name+" could not be read")
	}) || slices.ContainsFunc(v.NodeSets, func(s NodeSet) bool {
		return s.Block != nil && strings.HasPrefix(problem, "nodeset "+s.Name+" is blocked")
	})
}

// table grows line by line.
type table struct {
	look Look
	text strings.Builder
}

// Tone is what color a text has where there are colors.
type Tone string

// The tones, in the words of the terminal.
const (
	Plain Tone = ""
	Good  Tone = "\x1b[32m"
	Warn  Tone = "\x1b[33m"
	Bad   Tone = "\x1b[31m"
	Head  Tone = "\x1b[1m"
	reset      = "\x1b[0m"
)

func (t *table) line(tone Tone, format string, args ...any) {
	text := Printable(fmt.Sprintf(format, args...))
	if t.look.Width > 0 {
		text = Clip(text, t.look.Width)
	}
	if t.look.Color && tone != Plain {
		text = string(tone) + text + reset
	}
	t.text.WriteString(text + "\n")
}

// paragraph writes a text of any length.
func (t *table) paragraph(tone Tone, text string) {
	for line := range strings.Lines(wrap(Printable(text), "", t.textWidth())) {
		t.line(tone, "%s", strings.TrimSuffix(line, "\n"))
	}
}

// textWidth is how wide running text is.
func (t *table) textWidth() int {
	if t.look.Width == 0 {
		return Width
	}
	return min(t.look.Width, Width)
}

// columns are those of the rows. Where a terminal is too narrow, those with a
// least width are clipped to it, the first of narrowing first; the others hold
// numbers, for which 80 characters have room.
var columns = []struct {
	name  string
	least int
}{
	{"NODESET", 7}, {"JOB", 0}, {"USER", 4}, {"NODES", 6}, {"STATE", 0}, {"LEASE", 0}, {"TIME", 0},
}

var narrowing = []int{3, 0, 2} // NODES, NODESET, USER

// gap is between two columns.
const gap = 2

// fit gives the widths of the columns for these cells.
func (t *table) fit(cells [][]string) []int {
	widths := make([]int, len(columns))
	total := gap * (len(columns) - 1)
	for i := range columns {
		for _, row := range cells {
			widths[i] = max(widths[i], utf8.RuneCountInString(row[i]))
		}
		total += widths[i]
	}
	for _, i := range narrowing {
		if over := total - t.look.Width; t.look.Width > 0 && over > 0 {
			less := min(over, max(widths[i]-columns[i].least, 0))
			widths[i] -= less
			total -= less
		}
	}
	return widths
}

func (t *table) rows(v View) {
	cells := [][]string{{}}
	for _, c := range columns {
		cells[0] = append(cells[0], c.name)
	}
	for _, r := range v.Rows {
		cells = append(cells, r.cells(v.SeenAt))
	}
	widths := t.fit(cells)
	for i, row := range cells {
		var line strings.Builder
		for c, cell := range row {
			cell = Clip(cell, widths[c])
			line.WriteString(cell + strings.Repeat(" ", widths[c]-utf8.RuneCountInString(cell)+gap))
		}
		if i == 0 {
			t.line(Head, "%s", strings.TrimRight(line.String(), " "))
			continue
		}
		t.line(v.Rows[i-1].State.Tone(), "%s", strings.TrimRight(line.String(), " "))
		t.detail(v.Rows[i-1].Detail(t.look.Now))
	}
	switch {
	case len(v.Rows) > 0:
	case v.Unread():
		t.line(Plain, "the state of waiting nodes and machines is unknown")
	default:
		t.line(Plain, "no nodes waiting, no machines running")
	}
}

// detail writes what more there is to know of a row, on two lines at most.
func (t *table) detail(text string) {
	lines := wrap(Printable(text), "    ", t.textWidth())
	first, rest, _ := strings.Cut(strings.TrimSuffix(lines, "\n"), "\n")
	if first != "" {
		t.line(Plain, "%s", first)
	}
	if rest != "" {
		t.line(Plain, "    %s", strings.Join(strings.Fields(rest), " "))
	}
}

// cells are the row's columns.
func (r Row) cells(seen time.Time) []string {
	lease := "-"
	if r.Lease > 0 {
		lease = r.Lease.Limit()
	}
	return []string{
		cmp.Or(r.NodeSet, "-"), cmp.Or(r.firstJobs(), "-"), cmp.Or(strings.Join(r.Users, ","), "-"),
		r.Nodes, string(r.State), lease, cmp.Or(r.When(seen), "-"),
	}
}

// JobList is the row's jobs as squeue shows them.
func (r Row) JobList() string { return strings.Join(r.ShownAs, ",") }

// firstJobs are as many of the row's jobs as have room in a table, and how many
// more there are.
func (r Row) firstJobs() string {
	const room = 14
	text := ""
	for i, name := range r.ShownAs {
		next := name
		if i > 0 {
			next = text + "," + name
		}
		if i > 0 && len(next) > room {
			return fmt.Sprintf("%s +%d", text, len(r.ShownAs)-i)
		}
		text = next
	}
	return text
}

// When says how long the row has waited, or has left.
func (r Row) When(seen time.Time) string {
	switch {
	case r.State == Lost:
		return ""
	case !r.EndsAt.IsZero():
		return "ends in " + Span(r.EndsAt.Sub(seen))
	case !r.Since.IsZero():
		return "for " + Span(seen.Sub(r.Since))
	}
	return ""
}

// Detail says what more there is to know of a row: a word for the cause rather than
// Google's error message. It may be nothing.
func (r Row) Detail(now time.Time) string {
	var parts []string
	switch {
	case r.State == Returned:
		parts = append(parts, "returned to Slurm: "+r.Obstacle)
	case r.Failed > 0 && r.Cause != "" && !r.NextAt.IsZero():
		parts = append(parts, fmt.Sprintf("attempt %d failed (%s)", r.Failed, r.Cause), "retrying at "+Moment(r.NextAt, now))
	case r.Obstacle != "":
		parts = append(parts, r.Obstacle)
		if !r.NextAt.IsZero() {
			parts = append(parts, "retrying at "+Moment(r.NextAt, now))
		}
	default:
		if r.Error != "" {
			parts = append(parts, "last error: "+cmp.Or(r.Cause, r.Error))
		}
		if r.State == Queued && !r.GiveUpAt.IsZero() {
			parts = append(parts, "gives up at "+Moment(r.GiveUpAt, now))
		}
	}
	if !r.KnownAt.IsZero() {
		parts = append([]string{"last known at " + Moment(r.KnownAt, now)}, parts...)
	}
	return strings.Join(parts, "; ")
}

// Tone is how a state is shown.
func (s State) Tone() Tone {
	switch s {
	case Running, Idle:
		return Good
	case Asking, Queued, Waiting, Booting:
		return Warn
	case Returned, Lost, Down, Stranded:
		return Bad
	}
	return Plain
}

// nodeSet sums up a nodeset.
func (t *table) nodeSet(v View, set NodeSet) {
	t.line(Plain, "%s", v.SummaryOf(set))
	for _, n := range set.States {
		if (n.State == down || n.State == drained || n.State == draining || n.State == failing) && n.Reason != "" {
			t.line(Bad, "  %s %s: %s", n.Nodes, n.State, n.Reason)
		}
		if n.State == notUnderstood {
			t.line(Bad, "  %s: state %s is not known to slurmflex", n.Nodes, n.Slurm)
		}
	}
	if set.Block != nil {
		t.paragraph(Bad, set.Name+" is "+set.Blocked(t.look.Now))
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
	known, unread := v.lastKnown(s.Region)
	switch {
	case unread && known.IsZero():
		return text + "; its requests are unknown"
	case unread:
		return text + "; last known: " + Count(s.Active, "active request")
	}
	return text + "; " + Count(s.Active, "active request")
}

// Blocked says that the nodeset is blocked, why, and what lifts the block.
func (s NodeSet) Blocked(now time.Time) string {
	return fmt.Sprintf("blocked until %s because %s in a row failed to boot; to unblock it: slurmflex unblock %s",
		Moment(s.Block.Until, now), Count(s.Block.Failed, "machine"), s.Name)
}

func (t *table) region(r Region) {
	if r.ReadFail != "" {
		text := fmt.Sprintf("region %s could not be read: %s", r.Name, r.ReadFail)
		if !r.KnownAt.IsZero() {
			text += fmt.Sprintf("; last known at %s: %d of %d active requests", Moment(r.KnownAt, t.look.Now), r.Active, r.Most)
		}
		t.paragraph(Bad, text)
		return
	}
	t.line(Plain, "region %s: %d of %d active requests", r.Name, r.Active, r.Most)
}

package view

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"slurmflex/flex/plan/scene"
	"slurmflex/mig"
	"slurmflex/slurm"
)

// column is a column of a table, with what it shows of a row; empty for nothing.
type column struct {
	name  string
	least int // minimum width on a narrow terminal; 0: holds numbers, which are never clipped
	wide  bool
	text  string
}

// columns returns the columns of a row. If a terminal is too narrow, columns with a minimum width are
// clipped to that width, in the order of narrowing.
func (v View) columns(r Row) []column {
	gpus, _ := v.GPUsOf(r)
	return []column{
		{"NODESET", 7, false, r.NodeSet},
		{"JOB", 0, false, abridged(r.ShownAs, 14)},
		{"USER", 4, false, strings.Join(r.Users, ",")},
		{"NODES", 6, false, r.Nodes.String()},
		{"STATE", 0, false, string(r.State)},
		{"LEASE", 0, false, limitOf(r.Lease)},
		{"TIME", 0, false, r.when(v.SeenAt)},
		{"ESTIMATE", 0, true, r.Estimate.short()},
		{"COUNT", 0, true, numberOf(r.Count)},
		{"GPUS", 0, true, numberOf(gpus)},
		{"PLACE", 0, true, cmp.Or(r.Zone, r.Region)},
		{"SINCE", 0, true, stamp(r.Since)},
		{"ENDS", 0, true, stamp(r.EndsAt)},
		{"GROUP", 0, true, strings.TrimSuffix(r.Group+"/"+r.Request, "/")},
	}
}

// Cells returns what the columns show of a row, by their names, except for empty cells.
func (v View) Cells(r Row) map[string]string {
	cells := map[string]string{}
	for _, c := range v.columns(r) {
		if c.text != "" {
			cells[c.name] = c.text
		}
	}
	return cells
}

const nodesAt = 3

var narrowing = []int{nodesAt, 0, 2} // NODES, NODESET, USER

// gap is the space between two columns.
const gap = 2

func numberOf(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprint(n)
}

func limitOf(d Seconds) string {
	if d == 0 {
		return ""
	}
	return d.Limit()
}

func stamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339)
}

// GPUsOf counts the GPUs of a row's nodes, and reports whether their machine type is known.
func (v View) GPUsOf(r Row) (n int, known bool) {
	set, _ := v.NodeSet(r.NodeSet)
	machine, known := mig.KnownMachine(set.Machine)
	return r.Count * machine.GPUs, known
}

// rows writes the rows, with further details below them.
func (t *table) rows(v View) {
	rows := sorted(slices.Concat(v.Rows, v.Pending()))
	shown := func(r Row) []column {
		return keep(v.columns(r), func(c column) bool { return t.layout.Wide || !c.wide })
	}
	cells, head := [][]string{nil}, shown(Row{})
	for _, c := range head {
		cells[0] = append(cells[0], c.name)
	}
	for _, r := range rows {
		var row []string
		for _, c := range shown(r) {
			row = append(row, cmp.Or(c.text, "-"))
		}
		cells = append(cells, row)
	}
	widths := t.fit(head, cells)
	t.row(Head, cells[0], widths)
	remarks := Details(rows, t.layout.Now)
	for i, r := range rows {
		cells[i+1][nodesAt] = clipStart(cells[i+1][nodesAt], widths[nodesAt])
		t.row(r.State.tone(), cells[i+1], widths)
		t.detail(remarks[i])
	}
	switch {
	case len(rows) > 0:
	case v.Unread():
		t.line(Plain, "the state of waiting nodes and machines is unknown")
	case t.layout.Filtered:
		t.line(Plain, "no jobs, nodes or machines match")
	default:
		t.line(Plain, "no nodes waiting, no machines running")
	}
}

// fit returns the widths of the columns for these cells.
func (t *table) fit(columns []column, cells [][]string) []int {
	widths := make([]int, len(columns))
	total := gap * (len(widths) - 1)
	for i := range widths {
		for _, row := range cells {
			widths[i] = max(widths[i], utf8.RuneCountInString(row[i]))
		}
		total += widths[i]
	}
	if t.layout.Wide {
		return widths
	}
	for _, i := range narrowing {
		if over := total - t.layout.Width; t.layout.Width > 0 && over > 0 {
			less := min(over, max(widths[i]-columns[i].least, 0))
			widths[i] -= less
			total -= less
		}
	}
	return widths
}

// row writes cells. Cells without room on the terminal are written on a second line.
func (t *table) row(tone color, cells []string, widths []int) {
	const indent = 4
	line, used := "", 0
	for i, cell := range cells {
		if t.layout.Width > 0 && line != "" && used+widths[i] > t.layout.Width {
			t.line(tone, strings.TrimRight(line, " "))
			line, used = strings.Repeat(" ", indent), indent
		}
		cell = Clip(cell, widths[i])
		line += cell + strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell)+gap)
		used += widths[i] + gap
	}
	t.line(tone, strings.TrimRight(line, " "))
}

// detail writes a row's details, on two lines at most.
func (t *table) detail(text string) {
	lines := Wrap(Printable(text), "    ", t.textWidth())
	first, rest, _ := strings.Cut(strings.TrimSuffix(lines, "\n"), "\n")
	if first != "" {
		t.line(Plain, first)
	}
	if rest != "" {
		t.line(Plain, "    "+strings.Join(strings.Fields(rest), " "))
	}
}

// Pending returns rows for jobs without allocated nodes in partitions with flex-start nodes. One
// row covers all jobs of a user and a partition that wait for the same reason.
func (v View) Pending() []Row {
	type likeness struct{ partition, user, cause string }
	at := map[likeness]int{} // indices into rows
	var rows []Row
	for _, j := range v.Jobs {
		sets := v.setsOf(j.Partition)
		if len(sets) == 0 || !j.isUnplaced() {
			continue
		}
		key := likeness{j.Partition, j.User, v.causeOf(j)}
		if _, ok := at[key]; !ok {
			text := "pending in partition " + j.Partition
			if j.isHeldByUs() {
				text = "held by slurmflex"
			}
			at[key] = len(rows)
			rows = append(rows, Row{
				NodeSet: strings.Join(namesOf(sets), ","), State: Pending, Lease: j.Limit,
				Obstacle: text + ": " + key.cause, begins: j.Reason == slurm.BeginTime,
			})
			if j.User != "" {
				rows[at[key]].Users = []string{j.User}
			}
		}
		r := &rows[at[key]]
		r.Jobs, r.ShownAs = append(r.Jobs, j.ID), append(r.ShownAs, j.Name())
		if j.isHeldByUs() && !slices.Contains(r.release, j.address()) {
			r.release = append(r.release, j.address())
		}
		r.Count += j.NodeCount
		if r.Lease != j.Limit {
			r.Lease = 0
		}
		r.NextAt = scene.Earlier(r.NextAt, j.StartAt)
	}
	return rows
}

// when returns how long the row has waited, or how much time it has left.
func (r Row) when(seen time.Time) string {
	switch {
	case r.State == Lost, r.State == Deleting:
		return ""
	case !r.Maintain.IsZero():
		return "maintenance in " + Span(r.Maintain.Sub(seen))
	case !r.EndsAt.IsZero():
		return "ends in " + Span(r.EndsAt.Sub(seen))
	case !r.Since.IsZero():
		return "for " + Span(seen.Sub(r.Since))
	}
	return ""
}

// tone returns the color of a state.
func (s State) tone() color {
	switch s {
	case Running, Idle:
		return Good
	case Requesting, Queued, Waiting, Booting, Starting:
		return Warn
	case Returning, Lost, Down, Orphaned:
		return Bad
	}
	return Plain
}

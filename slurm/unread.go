package slurm

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// The kinds of rows that Slurm's commands print.
const (
	JobRow         = "job"
	NodeRow        = "node"
	ReservationRow = "reservation"
	PartitionRow   = "partition"
)

// RowKinds are the kinds of rows.
func RowKinds() []string { return []string{JobRow, NodeRow, ReservationRow, PartitionRow} }

// UnreadRow is a row of a command's output that could not be read, with what
// is known of it all the same.
type UnreadRow struct {
	Kind string
	Name string // of the node, reservation or partition, or a job's raw id; "" if that could not be read
	Why  string

	// State is the job's; "" if that could not be read. Nodes are those of the
	// job, if NodesKnown; otherwise they may be any.
	State      JobState
	Nodes      []string
	NodesKnown bool
}

// Job is the raw id of the job; 0 if that could not be read.
func (r UnreadRow) Job() uint32 {
	if r.Kind != JobRow {
		return 0
	}
	id, _ := strconv.ParseUint(r.Name, 10, 32) // 0 if it fails
	return uint32(id)
}

// String names the row and says what is wrong with it.
func (r UnreadRow) String() string {
	if r.Name == "" {
		return fmt.Sprintf("a %s row cannot be read: %s", r.Kind, r.Why)
	}
	name := quote(r.Name)
	if bare := strings.Trim(name, `"`); bare == r.Name {
		name = bare
	}
	return fmt.Sprintf("%s %s cannot be read: %s", r.Kind, name, r.Why)
}

// Unread is the rows that could not be read: an error that comes with the rows
// that could be. With any other error nothing was read.
type Unread []UnreadRow

// Take adds the rows of which err says that they could not be read. Any other
// error it returns.
func (u *Unread) Take(err error) error {
	var rows Unread
	if errors.As(err, &rows) {
		*u = append(*u, rows...)
		return nil
	}
	return err
}

// Error names the first of them.
func (u Unread) Error() string {
	if len(u) > 1 {
		return fmt.Sprintf("%s; and %d more", u[0], len(u)-1)
	}
	return u[0].String()
}

var errCutOff = errors.New("the output breaks off in its last line")

// reader reads one row. What is known of a row that it could not read comes
// with the error, and the name also without one.
type reader[T any] func(line string) (row T, known UnreadRow, err error)

// readRows reads a command's output, in which every line is a row. A row that
// cannot be read costs that row only. A name that is there twice costs its rows:
// nobody knows which of them is true. Output that breaks off, or in which no line
// begins as a row does, is not what the command prints: then nothing is read.
func readRows[T any](command, out string, isRow func(line string) bool, read reader[T]) ([]T, error) {
	if out != "" && !strings.HasSuffix(out, "\n") {
		return nil, fmt.Errorf("%s: %w", command, errCutOff)
	}
	count := strings.Count(out, "\n")
	rows, lines, times := make([]T, 0, count), make([]string, 0, count), make(map[string]int, count)
	var unread Unread
	anyRow, twice := false, false
	for line := range strings.Lines(out) {
		line = strings.TrimRight(line, "\r\n")
		anyRow = anyRow || isRow(line)
		row, known, err := read(line)
		if known.Name != "" {
			times[known.Name]++
			twice = twice || times[known.Name] > 1
		}
		if err != nil {
			unread = append(unread, known.because(line, err.Error()))
			continue
		}
		rows, lines = append(rows, row), append(lines, line)
	}
	if count > 0 && !anyRow {
		return nil, fmt.Errorf("%s: %s", command, unread[0].Why)
	}
	if twice {
		once := rows[:0]
		for i, line := range lines {
			if _, known, _ := read(line); times[known.Name] > 1 {
				unread = append(unread, known.because(line, fmt.Sprintf("it is listed %d times", times[known.Name])))
			} else {
				once = append(once, rows[i])
			}
		}
		rows = once
	}
	if unread != nil {
		return rows, unread
	}
	return rows, nil
}

// because completes what is known of an unread row. The line itself says more
// than nothing where not even a name is known.
func (r UnreadRow) because(line, why string) UnreadRow {
	r.Why = why
	if r.Name == "" {
		r.Why = quote(line) + ": " + why
	}
	return r
}

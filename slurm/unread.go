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

// UnreadRow is an unreadable row of a command's output, with those of its fields that are known.
type UnreadRow struct {
	Kind string
	Name string // of the node, reservation or partition, or a job's raw id; "" if unreadable
	Why  string

	// State is the job's state; "" if unreadable. Nodes are the job's nodes if NodesKnown is true.
	// If it is false, the job may have any nodes.
	State      JobState
	Nodes      []string
	NodesKnown bool

	task string // of an array task in a list with a row for each task, which may share their job's id
}

// Job returns the raw id of the job; 0 if unreadable.
func (r UnreadRow) Job() uint32 {
	if r.Kind != JobRow {
		return 0
	}
	id, _ := strconv.ParseUint(r.Name, 10, 32) // 0 if it fails
	return uint32(id)
}

// String names the row and the problem.
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

// Unread lists the rows that could not be read. This error is returned together with the readable
// rows. With any other error, nothing was read.
type Unread []UnreadRow

// Take appends the unreadable rows if err is an Unread. It returns any other error.
func (u *Unread) Take(err error) error {
	var rows Unread
	if errors.As(err, &rows) {
		*u = append(*u, rows...)
		return nil
	}
	return err
}

// Error describes the first row and counts the rest.
func (u Unread) Error() string {
	if len(u) > 1 {
		return fmt.Sprintf("%s; and %d more", u[0], len(u)-1)
	}
	return u[0].String()
}

var errCutOff = errors.New("the output breaks off in its last line")

// reader parses one row. Together with an error, known holds the fields that could be read. Its
// name is set even without an error.
type reader[T any] func(line string) (row T, known UnreadRow, err error)

// readRows parses a command's output. Every line must be a row. An unreadable row affects only
// itself. If a name occurs more than once, none of its rows is used, because any of them may be
// wrong. Truncated output, and output without any line that starts like a row, cannot be the
// command's output: then nothing is read.
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
			times[known.key()]++
			twice = twice || times[known.key()] > 1
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
			if _, known, _ := read(line); times[known.key()] > 1 {
				unread = append(unread, known.because(line, fmt.Sprintf("it is listed %d times", times[known.key()])))
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

// key identifies the row in its list.
func (r UnreadRow) key() string { return r.Name + " " + r.task }

// because completes the known fields of an unread row. If even the name is unknown, it adds the
// line itself.
func (r UnreadRow) because(line, why string) UnreadRow {
	r.Why = why
	if r.Name == "" {
		r.Why = quote(line) + ": " + why
	}
	return r
}

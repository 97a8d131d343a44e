package main

import (
	"bufio"
	"fmt"
	"io"
	"regexp"
	"slices"
)

// defect is a defect, described by the correct behaviour.
type defect struct {
	name  string
	right string
	tests []test // all must pass
}

// test is a test or subtest with its exact name from go test.
type test struct{ pkg, name string }

// row matches | no. | correct behaviour | package | test |. A further test of the same defect
// follows in a row with two empty cells.
var row = regexp.MustCompile("^\\| *([A-U]?[0-9]*) *\\| *(.*?) *\\| *`([^`|]+)` *\\| *`((?:Test|Fuzz)[^`|]+)` *\\|$")

// unread matches a line that names a test but is not a valid row.
var unread = regexp.MustCompile("\\| `(?:Test|Fuzz)")

// readTable reads the defects from a Markdown text.
func readTable(text io.Reader) ([]defect, error) {
	var defects []defect
	lines := bufio.NewScanner(text)
	for n := 1; lines.Scan(); n++ {
		cells := row.FindStringSubmatch(lines.Text())
		switch {
		case cells == nil && unread.MatchString(lines.Text()):
			return nil, fmt.Errorf("line %d: not a row: | no. | what must be right | `package` | `test` |", n)
		case cells == nil:
			continue
		case (cells[1] == "") != (cells[2] == ""), cells[1] == "" && defects == nil:
			return nil, fmt.Errorf("line %d: a row needs a number and what must be right, or neither for a further test of the row above", n)
		case slices.ContainsFunc(defects, func(d defect) bool { return d.name == cells[1] }):
			return nil, fmt.Errorf("line %d: defect %s is there twice", n, cells[1])
		case cells[1] != "":
			defects = append(defects, defect{name: cells[1], right: cells[2]})
		}
		last := &defects[len(defects)-1]
		last.tests = append(last.tests, test{cells[3], cells[4]})
	}
	return defects, lines.Err()
}

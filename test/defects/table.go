package main

import (
	"bufio"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
)

// count is how many defects there are. They are numbered from 1.
const count = 30

// defect is one that the incumbent has, as what must be right instead.
type defect struct {
	number int
	right  string
	tests  []test // all must pass
}

// test is a test or subtest by its exact name, as go test prints it.
type test struct{ pkg, name string }

// A row is | no. | what must be right | package | test |. Further tests of a
// defect follow in rows whose first two cells are empty.
var row = regexp.MustCompile("^\\| *([0-9]*) *\\| *(.*?) *\\| *`([^`|]+)` *\\| *`(Test[^`|]+)` *\\|$")

// readTable reads the defects out of a Markdown text, which must list all of
// them in their order.
func readTable(text io.Reader) ([]defect, error) {
	var defects []defect
	lines := bufio.NewScanner(text)
	for n := 1; lines.Scan(); n++ {
		cells := row.FindStringSubmatch(lines.Text())
		next := strconv.Itoa(len(defects) + 1)
		switch {
		case cells == nil && strings.Contains(lines.Text(), "| `Test"):
			return nil, fmt.Errorf("line %d: not a row: | no. | what must be right | `package` | `test` |", n)
		case cells == nil:
			continue
		case cells[1] == next && cells[2] != "":
			defects = append(defects, defect{number: len(defects) + 1, right: cells[2]})
		case cells[1] != "" || cells[2] != "":
			return nil, fmt.Errorf("line %d: defect %q; give number %s and what must be right, or neither", n, cells[1], next)
		case len(defects) == 0:
			return nil, fmt.Errorf("line %d: a further test of no defect; give number 1 first", n)
		}
		last := &defects[len(defects)-1]
		last.tests = append(last.tests, test{cells[3], cells[4]})
	}
	if err := lines.Err(); err != nil {
		return nil, err
	}
	if len(defects) != count {
		return nil, fmt.Errorf("%d defects are listed; list all %d", len(defects), count)
	}
	return defects, nil
}

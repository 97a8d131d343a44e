package main

import (
	"bufio"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
)

// all returns the names of the defects that test/README.md must list, in its order: the
// incumbent's 30, which have no letter, and what trials of slurmflex found: in slurmctld's
// answers (A), in Compute's (B), as its users (C), and in the trials of November 24 (D to U),
// where those that are still open are missing here.
func all() []string {
	var names []string
	for _, s := range []struct {
		letter string
		count  int
	}{{"", 30}, {"A", 11}, {"B", 17}, {"C", 20}} {
		for n := range s.count {
			names = append(names, s.letter+strconv.Itoa(n+1))
		}
	}
	return append(names, strings.Fields(later)...)
}

// later are the findings of November 24 that are fixed and have tests here. Of the others:
//   - D2, D7, E7 and H3 have gone with their causes, the reservation over a nodeset without capacity and the
//     gate; so has the part of U11 about waits, since a requeued job waits from when it gets its door.
//     The AdminComment names the loss (U3), and the story shows it later (U10).
//   - E5 is held by scripts/lint, which runs each benchmark once, E6 by test/lab, which skips by slurmdbd's
//     own words, and E8 by test/e2e.
//   - E9 is open: docs/performance.md has the figures.
//   - H1, H2, H4, H7 to H9 and H11 to H14 are in documents, alerts and the Debian package alone.
const later = "D1 D3 D4 D5 D6 D8 D9 D10 D11 D12 D13 E1 E2 E3 E4 E10 G1 G2 G3 G4 G5 G6 G7 H5 H6 H10 U1 U2 U3 U4 U5 U6 U7 U8 U9 U10 U12 U13 U14 U15 U16"

// defect is one that must not be, as what must be right instead.
type defect struct {
	name  string
	right string
	tests []test // all must pass
}

// test is a test or subtest by its exact name, as go test prints it.
type test struct{ pkg, name string }

// A row is | no. | what must be right | package | test |. Further tests of a
// defect follow in rows whose first two cells are empty.
var row = regexp.MustCompile("^\\| *([A-U]?[0-9]*) *\\| *(.*?) *\\| *`([^`|]+)` *\\| *`((?:Test|Fuzz)[^`|]+)` *\\|$")

// unread is a line that names a test and is not like a row.
var unread = regexp.MustCompile("\\| `(?:Test|Fuzz)")

// readTable reads the defects out of a Markdown text, which must list all of
// them in their order.
func readTable(text io.Reader) ([]defect, error) {
	names := all()
	var defects []defect
	lines := bufio.NewScanner(text)
	for n := 1; lines.Scan(); n++ {
		cells := row.FindStringSubmatch(lines.Text())
		next := "no more"
		if len(defects) < len(names) {
			next = names[len(defects)]
		}
		switch {
		case cells == nil && unread.MatchString(lines.Text()):
			return nil, fmt.Errorf("line %d: not a row: | no. | what must be right | `package` | `test` |", n)
		case cells == nil:
			continue
		case cells[1] == next && cells[2] != "":
			defects = append(defects, defect{name: next, right: cells[2]})
		case cells[1] != "" || cells[2] != "":
			return nil, fmt.Errorf("line %d: defect %q; expected %s and what must be right, or neither", n, cells[1], next)
		case len(defects) == 0:
			return nil, fmt.Errorf("line %d: a further test of no defect; give number 1 first", n)
		}
		last := &defects[len(defects)-1]
		last.tests = append(last.tests, test{cells[3], cells[4]})
	}
	if err := lines.Err(); err != nil {
		return nil, err
	}
	if len(defects) != len(names) {
		return nil, fmt.Errorf("%d defects are listed; list all %d", len(defects), len(names))
	}
	return defects, nil
}

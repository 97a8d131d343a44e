package main

import (
	"bufio"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
)

// all returns the defects that test/README.md must list, in order. The incumbent's 30 have no
// letter. Trials of slurmflex found the others: in Slurm's answers (A), in Compute's (B), by
// users (C), in the trials of November 24 (D to H and U) and in those of November 28 (J to S). Open
// findings are not listed.
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

// later lists the fixed findings of November 24, and from J on those of November 28, with tests in
// this repository. The others of November 24:
//   - The causes of D2, D7, E7 and H3 no longer exist: the reservation over a nodeset without
//     capacity, and the gate. The same holds for the part of U11 about waits, because the wait of a
//     requeued job starts when the job gets its door. The AdminComment names the loss (U3), and the
//     story shows it later (U10).
//   - U12 was about the table of estimates for other requests, which is gone.
//   - Other programs check E5 (scripts/lint runs each benchmark once), E6 (test/lab skips by
//     slurmdbd's own words) and E8 (test/e2e).
//   - E9 is open: docs/dev/testing.md has the figures.
//   - H1, H2, H4, H7 to H9 and H11 to H14 concern only documents, alerts and the Debian package. The same
//     holds for J7, L1, L2, L4, L7, O1 to O5 and O7, of November 28.
//   - N8, S2, S3 and S5 concern the tests, the rules of the planner and the words of the code.
const later = "D1 D3 D4 D5 D6 D8 D9 D10 D11 D12 D13 E1 E2 E3 E4 E10 G1 G2 G3 G4 G5 G6 G7 H5 H6 H10 U1 U2 U3 U4 U5 U6 U7 U8 U9 U10 U13 U14 U15 U16 J1 J2 J3 J4 J5 J6 J8 J9 J10 J11 K1 K2 K3 K4 K5 K6 K7 K8 K9 K10 K11 K12 K13 K14 L3 L5 L6 N1 N2 N3 N4 N5 N6 N7 N9 N10 O6 S1 S4"

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

// readTable reads the defects from a Markdown text, which must list all of them in order.
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
			return nil, fmt.Errorf("line %d: a further test without a defect; number 1 must come first", n)
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

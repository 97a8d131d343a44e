// Command defects checks that each of the incumbent's 30 defects, and each fault found by
// trials of slurmflex, has tests and that these passed. test/README.md lists the defects. The
// results are the ones recorded by make unit and make e2e, so no test runs twice.
package main

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
)

const (
	list    = "test/README.md"
	records = "build/tests"
)

func main() {
	wrong, err := check(os.Stdout)
	if err != nil {
		fmt.Fprintln(os.Stderr, "defects:", err)
	}
	if err != nil || wrong > 0 {
		os.Exit(1)
	}
}

// check compares the list with the records and returns the number of defects that are not fixed.
func check(out io.Writer) (wrong int, err error) {
	f, err := os.Open(list)
	if err != nil {
		return 0, fmt.Errorf("%w; run it in the repository's root", err)
	}
	defer f.Close()
	defects, err := readTable(f)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", list, err)
	}
	outcomes, err := readRecords(records)
	if err != nil {
		return 0, err
	}
	return report(out, defects, outcomes), nil
}

// report prints a line for each defect, and the result of each of its tests that did not pass.
// It returns the number of defects that are not fixed. A skipped test counts if another test of the defect
// passed: make nightly runs all.
func report(out io.Writer, defects []defect, outcomes map[test]outcome) (wrong int) {
	for _, d := range defects {
		verdict, details := "ok   ", ""
		for _, t := range d.tests {
			if o := outcomes[t]; o.end != passed && !(isSkipped(outcomes, t) && slices.ContainsFunc(d.tests, func(t test) bool { return outcomes[t].end == passed })) {
				verdict = "WRONG"
				details += fmt.Sprintf("   %s %s: %s\n%s", t.pkg, t.name, o.end, o.output)
			}
		}
		if details != "" {
			wrong++
		}
		fmt.Fprintf(out, "%3s %s %s\n%s", d.name, verdict, d.right, details)
	}
	fmt.Fprintf(out, "defects: %d of %d right\n", len(defects)-wrong, len(defects))
	return wrong
}

// isSkipped reports whether the test, or the test that it is part of, was skipped in all runs.
func isSkipped(outcomes map[test]outcome, t test) bool {
	whole, _, _ := strings.Cut(t.name, "/")
	return outcomes[t].end == skipped || outcomes[test{t.pkg, whole}].end == skipped
}

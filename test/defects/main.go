// Command defects runs the tests that show the incumbent's 30 defects, and the
// faults that trials of slurmflex found, to be right here, and says of each
// whether it is. The list is in test/README.md.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
)

const list = "test/README.md"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	right, err := check(ctx, os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "defects:", err)
	}
	if err != nil || right != len(all()) {
		os.Exit(1)
	}
}

// check runs the tests of all defects, and returns how many are right.
func check(ctx context.Context, out io.Writer) (right int, err error) {
	f, err := os.Open(list)
	if err != nil {
		return 0, fmt.Errorf("%w; run it in the repository's root", err)
	}
	defer f.Close()
	defects, err := readTable(f)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", list, err)
	}
	outcomes, err := run(ctx, defects)
	if err != nil {
		return 0, err
	}
	return report(out, defects, outcomes), nil
}

// report prints a line for each defect, and for each of its tests that did not
// pass what became of it.
func report(out io.Writer, defects []defect, outcomes map[test]outcome) (right int) {
	for _, d := range defects {
		verdict, details := "ok   ", ""
		for _, t := range d.tests {
			if o := outcomes[t]; o.end != passed {
				verdict = "WRONG"
				details += fmt.Sprintf("   %s %s: %s\n%s", t.pkg, t.name, o.end, o.output)
			}
		}
		if details == "" {
			right++
		}
		fmt.Fprintf(out, "%3s %s %s\n%s", d.name, verdict, d.right, details)
	}
	fmt.Fprintf(out, "defects: %d of %d right\n", right, len(defects))
	return right
}

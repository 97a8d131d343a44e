package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
)

// module is the path of the module, which the list's packages are given without.
const module = "slurmflex/"

// outcome is what became of a test.
type outcome struct {
	end    end
	output string
}

// end is how a test ended; zero: it did not, or there is none of that name.
type end string

const passed end = "pass"

func (e end) String() string {
	if e == "" {
		return "did not run to its end; is it of that name?"
	}
	return string(e)
}

// run runs the tests of all defects, each once, in one go test.
func run(ctx context.Context, defects []defect) (map[test]outcome, error) {
	cmd := exec.CommandContext(ctx, "go", arguments(defects)...)
	cmd.Stderr = os.Stderr
	events, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("run the tests: %w", err)
	}
	outcomes, err := readEvents(events)
	if err != nil {
		err = fmt.Errorf("read what go test prints: %w", err)
	}
	var failed *exec.ExitError // a test that fails shows in its outcome
	if end := cmd.Wait(); end != nil && !errors.As(end, &failed) {
		err = errors.Join(err, fmt.Errorf("run the tests: %w", end))
	}
	return outcomes, errors.Join(err, ctx.Err())
}

// arguments are go test's. A name may be there in several packages; that the
// others run theirs too does no harm.
func arguments(defects []defect) []string {
	var packages, names []string
	for _, d := range defects {
		for _, t := range d.tests {
			packages = append(packages, "./"+t.pkg)
			parts := strings.Split(t.name, "/")
			for i, p := range parts {
				parts[i] = "^" + regexp.QuoteMeta(p) + "$"
			}
			names = append(names, strings.Join(parts, "/"))
		}
	}
	slices.Sort(packages)
	return append([]string{"test", "-json", "-count=1", "-run", strings.Join(names, "|")}, slices.Compact(packages)...)
}

// readEvents reads the events of go test -json, which are described in
// go doc test2json.
func readEvents(from io.Reader) (map[test]outcome, error) {
	outcomes := map[test]outcome{}
	for events := json.NewDecoder(from); ; {
		var e struct{ Action, Package, Test, Output string }
		if err := events.Decode(&e); errors.Is(err, io.EOF) {
			return outcomes, nil
		} else if err != nil {
			return outcomes, err
		}
		t := test{strings.TrimPrefix(e.Package, module), e.Test}
		o := outcomes[t]
		switch e.Action {
		case "output":
			o.output += e.Output
		case "pass", "fail", "skip":
			o.end = end(e.Action)
		case "build-output":
			fmt.Fprint(os.Stderr, e.Output)
		}
		outcomes[t] = o
	}
}

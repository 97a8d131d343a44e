package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// module is the module's path. The list omits it from package names.
const module = "slurmflex/"

// outcome is the result of a test in the recorded runs.
type outcome struct {
	end    end
	output string
}

// end is the last action of a test in the events of go test -json (see go doc test2json). It
// is empty if no recorded run finished the test.
type end string

const (
	skipped end = "skip"
	passed  end = "pass"
	failed  end = "fail"
)

func (e end) String() string {
	if e == "" {
		return "did not run; does a test have that name?"
	}
	return string(e)
}

// readRecords reads the recorded test runs in a folder.
func readRecords(folder string) (map[test]outcome, error) {
	files, err := filepath.Glob(filepath.Join(folder, "*.json"))
	if err != nil {
		return nil, err
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("no test run is recorded in %s; run make unit e2e first", folder)
	}
	outcomes := map[test]outcome{}
	for _, file := range files {
		if err := readRecord(file, outcomes); err != nil {
			return nil, fmt.Errorf("read %s: %w", file, err)
		}
	}
	return outcomes, nil
}

func readRecord(file string, outcomes map[test]outcome) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	return readEvents(f, outcomes)
}

// readEvents adds the events of one run to outcomes. A test in several runs has failed if any
// run failed it. It has passed if one run passed it and the others skipped it.
func readEvents(from io.Reader, outcomes map[test]outcome) error {
	outputs := map[test]string{}
	for events := json.NewDecoder(from); ; {
		var e struct{ Action, Package, Test, Output string }
		if err := events.Decode(&e); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		t := test{strings.TrimPrefix(e.Package, module), e.Test}
		switch e.Action {
		case "output":
			outputs[t] += e.Output
		case "pass", "fail", "skip":
			if worst := []end{"", skipped, passed, failed}; slices.Index(worst, end(e.Action)) >= slices.Index(worst, outcomes[t].end) {
				outcomes[t] = outcome{end(e.Action), outputs[t]}
			}
		}
	}
}

// Command mutants plants one deliberate bug after another and reports the tests that find it.
// It does not change the tree: the Go tool gets the mutated file as an overlay. The argument
// is a regular expression that selects mutants by bug or file.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	only := regexp.MustCompile(strings.Join(os.Args[1:], "|"))
	all := slices.DeleteFunc(slices.Clone(mutants), func(m mutant) bool { return !only.MatchString(m.bug + " " + m.file) })
	found, err := hunt(ctx, os.Stdout, all)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
	}
	if err != nil || found != len(all) {
		os.Exit(1)
	}
}

// hunt runs the tests against each mutant and returns how many mutants they found.
func hunt(ctx context.Context, out io.Writer, all []mutant) (found int, err error) {
	for _, m := range all {
		by, err := m.foundBy(ctx)
		var broken compileError
		switch {
		case errors.As(err, &broken):
			by = "DOES NOT COMPILE: " + broken.first
		case err != nil:
			return found, fmt.Errorf("%s: %w", m.bug, err)
		case by == "":
			by = "NOT FOUND"
		default:
			found++
		}
		fmt.Fprintf(out, "%-70s %s\n", m.bug, by)
	}
	fmt.Fprintf(out, "mutants: %d of %d found\n", found, len(all))
	return found, nil
}

// mutant is one deliberate bug. The text old is the correct code and occurs exactly once in
// the file.
type mutant struct {
	bug       string
	file      string
	old, with string
	tests     []string // packages with tests that should find it, fastest first
}

// planted returns the text of the file with the bug.
func (m mutant) planted() (string, error) {
	text, err := os.ReadFile(m.file)
	if err != nil {
		return "", fmt.Errorf("%w; run it in the repository's root", err)
	}
	if n := strings.Count(string(text), m.old); n != 1 {
		return "", fmt.Errorf("%s has the text %q %d times, not once: change the mutant's text", m.file, m.old, n)
	}
	return strings.Replace(string(text), m.old, m.with, 1), nil
}

// foundBy returns the first test that fails with the bug, or "".
func (m mutant) foundBy(ctx context.Context) (test string, err error) {
	text, err := m.planted()
	if err != nil {
		return "", err
	}
	dir, err := os.MkdirTemp("", "mutant-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(dir)
	overlay, err := m.overlay(dir, text)
	if err != nil {
		return "", err
	}
	for _, pkg := range m.tests {
		output, err := goTest(ctx, overlay, pkg)
		var failed *exec.ExitError
		switch {
		case err == nil:
			continue
		case ctx.Err() != nil:
			return "", ctx.Err()
		case !errors.As(err, &failed):
			return "", err
		case strings.Contains(string(output), "[build failed]") || strings.Contains(string(output), "[setup failed]"):
			return "", compileErrorIn(string(output))
		}
		return pkg + " " + firstFailure(string(output)), nil
	}
	return "", nil
}

// compileError is the error if the code does not compile with the bug.
type compileError struct{ first string }

func (e compileError) Error() string { return "it does not compile: " + e.first }

// compileErrorIn returns the first error of the compiler in the output of go test.
func compileErrorIn(output string) compileError {
	_, output, _ = strings.Cut(output, "mutant.go:")
	first, _, _ := strings.Cut(output, "\n")
	return compileError{first}
}

// goTest runs the tests of a package in its module; the tools have a module of their own.
func goTest(ctx context.Context, overlay, pkg string) (output []byte, err error) {
	args := []string{"test"}
	if tool, ok := strings.CutPrefix(pkg, "test/tools/"); ok {
		args, pkg = append(args, "-C", "test/tools"), tool
	}
	args = append(args, "-overlay", overlay, "-failfast", "-timeout", "5m", "./"+pkg)
	return exec.CommandContext(ctx, "go", args...).CombinedOutput()
}

// overlay writes the mutated file, and the overlay file that makes the Go tool use it.
func (m mutant) overlay(dir, text string) (path string, err error) {
	original, err := filepath.Abs(m.file)
	if err != nil {
		return "", err
	}
	mutated := filepath.Join(dir, "mutant.go")
	if err := os.WriteFile(mutated, []byte(text), 0o600); err != nil {
		return "", err
	}
	replace, err := json.Marshal(map[string]map[string]string{"Replace": {original: mutated}})
	if err != nil {
		return "", err
	}
	path = filepath.Join(dir, "overlay.json")
	return path, os.WriteFile(path, replace, 0o600)
}

var failure = regexp.MustCompile(`(?m)^\s*--- FAIL: (\S+)`)

// firstFailure returns the innermost of the first failed tests.
func firstFailure(output string) string {
	name := "(it hangs, panics or is reported as a race)"
	for _, match := range failure.FindAllStringSubmatch(output, -1) {
		if name != "" && !strings.HasPrefix(match[1], name+"/") && strings.HasPrefix(name, "Test") {
			break
		}
		name = match[1]
	}
	return name
}

package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// goCommand stands for go: the packages must be there, and tests of the names
// that are asked for. It compiles nothing.
func goCommand(args []string) error {
	if len(args) == 0 || !slices.Contains([]string{"build", "test", "vet", "run"}, args[0]) {
		return errors.New("give one of build, test, vet, run")
	}
	pattern, folders := "", []string{}
	for i, word := range args {
		switch {
		case word == "-run" && i+1 < len(args):
			pattern = args[i+1]
		case strings.HasPrefix(word, "./"):
			folders = append(folders, strings.TrimSuffix(word, "..."))
		}
	}
	if len(folders) == 0 {
		return errors.New("give a package, such as ./flex/plan")
	}
	for _, folder := range folders {
		files, err := goFiles(folder)
		if err == nil && pattern != "" {
			err = checkTests(folder, files, pattern)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// goFiles are the files of a package, or of all packages below the root.
func goFiles(folder string) ([]string, error) {
	files, err := filepath.Glob(filepath.Join(folder, "*.go"))
	if err == nil && len(files) == 0 && filepath.Clean(folder) != "." {
		err = fmt.Errorf("there is no package %s", folder)
	}
	return files, err
}

var testFunction = regexp.MustCompile(`(?m)^func (Test\w+)\(`)

// checkTests looks for a test that fits a pattern of go test -run, as far as it
// names no subtest.
func checkTests(folder string, files []string, pattern string) error {
	first, _, _ := strings.Cut(pattern, "/")
	form, err := regexp.Compile(first)
	if err != nil {
		return fmt.Errorf("pattern %s: %w", pattern, err)
	}
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		for _, test := range testFunction.FindAllSubmatch(text, -1) {
			if form.Match(test[1]) {
				return nil
			}
		}
	}
	return fmt.Errorf("%s has no test %s", folder, first)
}

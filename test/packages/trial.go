package main

import (
	"context"
	"fmt"
)

// trial is what was checked of the packages.
type trial struct {
	ctx      context.Context
	root     root
	packages packages
	part     string // that the checks are of
	checks   int
	wrong    []string
}

// check notes whether something is as it should be.
func (t *trial) check(what string, err error) {
	t.checks++
	what = t.part + ": " + what
	if err == nil {
		fmt.Println("ok   ", what)
		return
	}
	t.wrong = append(t.wrong, what)
	fmt.Printf("WRONG %s: %v\n", what, err)
}

// says checks that a command in the root ends with that code and prints all of
// the words.
func (t *trial) says(what string, code int, words []string, command ...string) {
	text, err := t.root.run(t.ctx, code, command...)
	if err == nil {
		err = contains(text, words)
	}
	t.check(what, err)
}

func (t *trial) verdict() string {
	if len(t.wrong) > 0 {
		return fmt.Sprintf("packages: %d checks, %d wrong", t.checks, len(t.wrong))
	}
	return fmt.Sprintf("packages: %d checks, all right", t.checks)
}

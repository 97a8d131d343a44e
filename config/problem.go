package config

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Problem is one thing that is wrong with a configuration file, and its fix.
type Problem struct {
	File string
	Line int    // from 1; 0 if the problem is of the file as a whole
	Key  string // the path of the key, such as nodeset.a3.dws_flex; empty if there is none
	Text string // what is wrong; how to fix it
}

// Error is the problem in one line: file:line: key: what; fix.
func (p Problem) Error() string {
	var b strings.Builder
	b.WriteString(p.File)
	if p.Line > 0 {
		fmt.Fprintf(&b, ":%d", p.Line)
	}
	if p.Key != "" {
		b.WriteString(": " + p.Key)
	}
	b.WriteString(": " + p.Text)
	return b.String()
}

// Problems is everything that is wrong with a file, sorted by line. As an
// error it is never empty.
type Problems []Problem

// Error is all the problems, one a line.
func (ps Problems) Error() string {
	lines := make([]string, len(ps))
	for i, p := range ps {
		lines[i] = p.Error()
	}
	return strings.Join(lines, "\n")
}

func (ps Problems) sort() {
	slices.SortStableFunc(ps, func(a, b Problem) int { return cmp.Compare(a.Line, b.Line) })
}

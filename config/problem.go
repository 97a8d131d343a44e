package config

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Problem is one problem of a configuration file, with its fix.
type Problem struct {
	File string
	Line int    // from 1; 0 if the problem concerns the file as a whole
	Key  string // the path of the key, such as nodeset.a3.dws_flex; may be empty
	Text string // the problem and its fix
}

// Error returns the problem on one line: file:line: key: problem; fix.
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

// Problems are all problems of a file, sorted by line. An error of this type is never empty.
type Problems []Problem

// Error returns all problems, one per line.
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

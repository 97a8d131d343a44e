// Package check compares a configuration with good practice, with what Slurm is
// configured to do, and with what Compute has. It observes first and judges then
// what it has seen, so that the judgement is a pure function.
package check

import (
	"cmp"
	"slices"
	"strings"

	"slurmflex/config"
)

// Level is how much a finding matters.
type Level string

// The levels, the worst first.
const (
	Fault   Level = "fault"   // it does not work: some job is lost or never starts
	Unread  Level = "unread"  // it could not be looked at, so nothing is known
	Advice  Level = "advice"  // it works, but this would be better
	Ignored Level = "ignored" // a key that slurmflex does not use
)

// Finding is one thing to know, and what to do about it.
type Finding struct {
	Level Level  `json:"level"`
	File  string `json:"file"`          // of the line to change, or of the configuration
	Line  int    `json:"line,omitzero"` // from 1; 0 if it is not there yet, or not known
	Key   string `json:"key,omitempty"` // such as nodeset.a3.dws_flex or ResumeTimeout
	Text  string `json:"text"`          // what is wrong; what to do
}

// String is the finding in one line: file:line: key: text; fix. All but faults are
// labelled with their level.
func (f Finding) String() string { return f.problem().Error() }

func (f Finding) problem() config.Problem {
	word := map[Level]string{Unread: "not checked: ", Advice: "advice: ", Ignored: "ignored"}[f.Level]
	text := strings.Join(strings.Fields(f.Text), " ")
	if f.Level == Ignored {
		text = " (" + text + ")"
	}
	return config.Problem{File: f.File, Line: f.Line, Key: f.Key, Text: word + text}
}

// Findings are what was found, by file and line.
type Findings []Finding

// Of are those of some levels.
func (fs Findings) Of(levels ...Level) Findings {
	var kept Findings
	for _, f := range fs {
		if slices.Contains(levels, f.Level) {
			kept = append(kept, f)
		}
	}
	return kept
}

// Problems are the findings as an error, one a line.
func (fs Findings) Problems() config.Problems {
	var all config.Problems
	for _, f := range fs {
		all = append(all, f.problem())
	}
	return all
}

// sort orders findings by file and line; those of one line stay as they were
// found.
func (fs Findings) sort() Findings {
	slices.SortStableFunc(fs, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line))
	})
	return fs
}

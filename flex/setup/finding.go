package setup

import (
	"cmp"
	"slices"
	"strings"

	"slurmflex/config"
)

// severity is the severity of a finding.
type severity string

// The levels, most severe first.
const (
	Fault   severity = "fault"   // something does not work: some job is lost or never starts
	Unread  severity = "unread"  // something could not be read, so nothing is known
	Advice  severity = "advice"  // it works, but could be better
	Ignored severity = "ignored" // a key that slurmflex does not use
)

// Finding is one fact about the configuration or the cluster, with its fix.
type Finding struct {
	Level severity `json:"level"`
	File  string   `json:"file"`          // the configuration, or slurm.conf, which may include the file with the setting
	Line  int      `json:"line,omitzero"` // from 1; 0 if unknown or not written yet, and in slurm.conf
	Key   string   `json:"key,omitempty"` // such as nodeset.a3.dws_flex or ResumeTimeout
	Text  string   `json:"text"`          // the problem and its fix
}

// problem returns the finding as an error on one line: file:line: key: text; fix. The level is included,
// except for faults.
func (f Finding) problem() config.Problem {
	word := map[severity]string{Unread: "not checked: ", Advice: "advice: ", Ignored: "ignored"}[f.Level]
	text := strings.Join(strings.Fields(f.Text), " ")
	if f.Level == Ignored {
		text = " (" + text + ")"
	}
	return config.Problem{File: f.File, Line: f.Line, Key: f.Key, Text: word + text}
}

// Findings is a list of findings, by file and line.
type Findings []Finding

// of returns the findings of the given levels.
func (fs Findings) of(levels ...severity) Findings {
	var kept Findings
	for _, f := range fs {
		if slices.Contains(levels, f.Level) {
			kept = append(kept, f)
		}
	}
	return kept
}

// problems returns the findings as an error, one per line.
func (fs Findings) problems() config.Problems {
	var all config.Problems
	for _, f := range fs {
		all = append(all, f.problem())
	}
	return all
}

// sort orders findings by file and line. Findings of one line keep their order.
func (fs Findings) sort() Findings {
	slices.SortStableFunc(fs, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line))
	})
	return fs
}

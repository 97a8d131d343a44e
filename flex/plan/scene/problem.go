package scene

import (
	"fmt"
)

// Problem describes something that slurmflex left alone and that an admin should know about.
type Problem struct {
	Key   string `json:"kind"`            // a stable name, such as boot-timeout
	About string `json:"about,omitempty"` // the group, nodes, instance, nodeset, region or job that has the problem
	Text  string `json:"problem"`
}

// Problems is a list of different problems.
type Problems []Problem

// Texts returns the text of each problem.
func (ps Problems) Texts() (texts []string) {
	for _, p := range ps {
		texts = append(texts, p.Text)
	}
	return texts
}

// Add appends a problem with a formatted text, and returns the text.
func (ps *Problems) Add(key, about, text string, args ...any) string {
	p := NewProblem(key, about, text, args...)
	*ps = append(*ps, p)
	return p.Text
}

// NewProblem returns a problem with a formatted text.
func NewProblem(key, about, text string, args ...any) Problem {
	return Problem{Key: key, About: about, Text: fmt.Sprintf(text, args...)}
}
